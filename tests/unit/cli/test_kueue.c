/* SPDX-License-Identifier: Apache-2.0 */
/* What Kueue must be told, and whether what it was told is right. */
#include "kueue_audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static json_t *json(const char *text)
{
        json_t *root = json_loads(text, 0, NULL);

        CHECK(root != NULL);
        return root;
}

static void node_add(struct kueue_plan *plan, const char *allocatable, const char *gpus)
{
        char text[2048];

        snprintf(text, sizeof text,
                 "{\"metadata\":{\"annotations\":{\"nvidia.com/node-device-register\":\"%s\"}},"
                 "\"status\":{\"allocatable\":{%s}}}",
                 gpus, allocatable);
        json_t *node = json(text);

        CHECK_EQ(kueue_plan_add_node(plan, node), 0);
        json_decref(node);
}

#define MIG_NODE                                                                \
        "\"cpu\":\"1900m\",\"memory\":\"8Gi\",\"nvidia.com/mig-1g.5gb\":\"4\"," \
        "\"mig.das.com/1g.5gb\":\"4\",\"nvidia.com/mig-3g.20gb\":\"1\""
#define GPU                                                                                  \
        "[{\\\"id\\\":0,\\\"type\\\":\\\"A\\\",\\\"uuid\\\":\\\"GPU-1\\\",\\\"core\\\":100," \
        "\\\"memory\\\":40960,\\\"number\\\":10,\\\"numa\\\":0,\\\"mig\\\":false,"           \
        "\\\"healthy\\\":true}]"

static char *printed(const struct kueue_plan *plan, bool is_manager)
{
        char *text = NULL;
        size_t bytes;
        FILE *to = open_memstream(&text, &bytes);

        if (is_manager)
                kueue_plan_print_manager(plan, "", to);
        else
                kueue_plan_print_objects(plan, to);
        fclose(to);
        return text;
}

static void prints(const struct kueue_plan *plan, bool is_manager, const char *part, bool is_there)
{
        char *text = printed(plan, is_manager);

        if ((strstr(text, part) != NULL) != is_there)
                CHECK_STR(text, part);
        free(text);
}

TEST(aliases_of_one_instance_count_once)
{
        struct kueue_plan plan;
        struct err e = { 0 };

        kueue_plan_init(&plan);
        node_add(&plan, MIG_NODE, "[]");
        node_add(&plan, MIG_NODE, "[]");
        node_add(&plan, "\"cpu\":\"64\"", "[]"); /* no GPU: its CPUs are not for these queues */
        CHECK_EQ(kueue_plan_check(&plan, &e), 0);
        prints(&plan, false, "[\"cpu\", \"memory\", \"gpu.das.com/mem\"]", true);
        prints(&plan, false, "- name: \"gpu.das.com/mem\"\n        nominalQuota: \"80\"", true);
        prints(&plan, false, "nominalQuota: \"3800m\"", true);
        prints(&plan, false, "nominalQuota: \"16384Mi\"", true);
        prints(&plan, false, "namespaceSelector: {}", true);
        kueue_plan_done(&plan);
}

TEST(advertised_memory_is_the_quota)
{
        struct kueue_plan plan;

        kueue_plan_init(&plan);
        node_add(&plan, MIG_NODE ",\"gpu.das.com/mem\":\"37\"", "[]");
        prints(&plan, false, "nominalQuota: \"37\"", true);
        kueue_plan_done(&plan);
}

TEST(admission_counts_or_kueue_does)
{
        struct kueue_plan plan;

        kueue_plan_init(&plan);
        node_add(&plan, MIG_NODE, "[]");
        prints(&plan, true, "- \"nvidia.com/mig-\"\n  - \"mig.das.com/\"", false); /* sorted */
        prints(&plan, true, "- \"mig.das.com/\"\n  - \"nvidia.com/mig-\"", true);
        prints(&plan, true, "transformations", false);
        plan.mode = KUEUE_TRANSFORM;
        prints(&plan, true, "excludeResourcePrefixes", false);
        prints(&plan, true,
               "- input: \"nvidia.com/mig-3g.20gb\"\n    strategy: Replace\n    outputs: "
               "{\"gpu.das.com/mem\": \"20\"}",
               true);
        kueue_plan_done(&plan);
}

TEST(shares_count_in_total_whatever_their_family)
{
        struct kueue_plan plan;
        struct err e = { 0 };

        kueue_plan_init(&plan);
        node_add(&plan, "\"nvidia.com/vgpu\":\"10\",\"volcano.sh/vgpu-number\":\"10\"", GPU);
        CHECK_EQ(kueue_plan_check(&plan, &e), 0);
        prints(&plan, false, "- name: \"vgpu.io/total-number\"\n        nominalQuota: \"10\"",
               true);
        prints(&plan, false, "- name: \"vgpu.io/total-memory\"\n        nominalQuota: \"40960\"",
               true);
        prints(&plan, true,
               "- input: \"volcano.sh/vgpu-memory\"\n    strategy: Replace\n    multiplyBy: "
               "\"volcano.sh/vgpu-number\"\n    outputs: {\"vgpu.io/total-memory\": \"1\"}",
               true);
        prints(&plan, true, "- \"nvidia.com/gpumem-percentage\"", true);
        kueue_plan_done(&plan);
}

TEST(without_a_cluster_quotas_come_from_arguments)
{
        struct kueue_plan plan;
        struct err e = { 0 };

        kueue_plan_init(&plan);
        CHECK_EQ(kueue_plan_check(&plan, &e), -ENODATA);
        CHECK_EQ(kueue_plan_add_name(&plan, "example.com/gpu", &e), -EINVAL);
        CHECK_EQ(kueue_plan_add_name(&plan, "nvidia.com/mig-1g.5gb", &e), 0);
        CHECK_EQ(kueue_plan_check(&plan, &e), -ENODATA);
        CHECK_EQ(kueue_plan_set_quota(&plan, "gpu.das.com/mem", &e), -EINVAL);
        CHECK_EQ(kueue_plan_set_quota(&plan, "gpu.das.com/mem=1.5", &e), -EINVAL);
        CHECK_EQ(kueue_plan_set_quota(&plan, "gpu.das.com/mem=50", &e), 0);
        CHECK_EQ(kueue_plan_check(&plan, &e), 0);
        prints(&plan, false, "[\"gpu.das.com/mem\"]", true);
        kueue_plan_done(&plan);
}

struct heard {
        char text[4096];
        unsigned wrong;
};

static void hear(void *owner, enum kueue_verdict verdict, const char *sentence, const char *fix)
{
        struct heard *heard = owner;

        (void)fix;
        heard->wrong += verdict == KUEUE_WRONG;
        snprintf(heard->text + strlen(heard->text), sizeof heard->text - strlen(heard->text),
                 "%s\n", sentence);
}

#define GOOD_QUEUE                                                            \
        "[{\"metadata\":{\"name\":\"q\"},\"spec\":{\"namespaceSelector\":{}," \
        "\"resourceGroups\":[{\"coveredResources\":[\"gpu.das.com/mem\"],"    \
        "\"flavors\":[{\"name\":\"default\"}]}]}}]"
#define LED      "[{\"spec\":{\"clusterQueue\":\"q\"}}]"
#define FLAVOR   "[{\"metadata\":{\"name\":\"default\"}}]"
#define EXCLUDED "{\"resources\":{\"excludeResourcePrefixes\":[\"nvidia.com/mig-\"]}}"
#define TRANSFORMED(gb)                                                              \
        "{\"resources\":{\"transformations\":[{\"input\":\"nvidia.com/mig-1g.5gb\"," \
        "\"strategy\":\"Replace\",\"outputs\":{\"gpu.das.com/mem\":" gb "}}]}}"

static struct heard audited(const char *manager, int64_t pod_gb, int64_t job_gb, const char *queues,
                            const char *led, const char *flavors)
{
        const struct kueue_probe probe = { .resource = "nvidia.com/mig-1g.5gb",
                                           .profile_gb = 5,
                                           .pod_gb = pod_gb,
                                           .job_gb = job_gb };
        struct heard heard = { 0 };
        struct kueue_plan plan;
        json_t *texts[] = { json(manager), json(queues), json(led), json(flavors) };
        const struct kueue_facts facts = { &plan, &probe, texts[0], texts[1], texts[2], texts[3] };

        kueue_plan_init(&plan);
        CHECK_EQ(kueue_plan_add_name(&plan, "nvidia.com/mig-1g.5gb", NULL), 0);
        kueue_audit(&facts, hear, &heard);
        for (unsigned i = 0; i < 4; i++)
                json_decref(texts[i]);
        kueue_plan_done(&plan);
        return heard;
}

static void finds(struct heard heard, unsigned wrong, const char *sentence)
{
        if (heard.wrong != wrong || !strstr(heard.text, sentence))
                CHECK_STR(heard.text, sentence);
}

TEST(each_mode_alone_is_well)
{
        finds(audited(EXCLUDED, 5, 5, GOOD_QUEUE, LED, FLAVOR), 0, "counts as 5 GB");
        finds(audited(TRANSFORMED("5"), 0, 0, GOOD_QUEUE, LED, FLAVOR), 0, "counts as 5 GB");
        finds(audited(TRANSFORMED("\"5\""), 0, 0, GOOD_QUEUE, LED, FLAVOR), 0, "counts as 5 GB");
}

TEST(both_modes_count_twice)
{
        finds(audited(TRANSFORMED("5"), 5, 5, GOOD_QUEUE, LED, FLAVOR), 1, "counts twice");
}

TEST(neither_mode_counts_nothing)
{
        finds(audited(EXCLUDED, 0, 0, GOOD_QUEUE, LED, FLAVOR), 1, "is not counted");
}

TEST(other_faults_of_kueue_are_found)
{
        finds(audited(TRANSFORMED("4"), 0, 0, GOOD_QUEUE, LED, FLAVOR), 1, "makes 4 GB");
        finds(audited("{}", 5, 5, GOOD_QUEUE, LED, FLAVOR), 1, "never admitted");
        finds(audited(EXCLUDED, 5, 0, GOOD_QUEUE, LED, FLAVOR), 1, "Jobs are queued without");
        finds(audited(EXCLUDED, 7, 7, GOOD_QUEUE, LED, FLAVOR), 1, "admission makes 7 GB");
        finds(audited(EXCLUDED, 5, 5, GOOD_QUEUE, "[]", FLAVOR), 1, "no LocalQueue leads to it");
        finds(audited(EXCLUDED, 5, 5, GOOD_QUEUE, LED, "[]"), 1, "no ResourceFlavor 'default'");
        finds(audited(EXCLUDED, 5, 5, "[]", "[]", "[]"), 0, "no ClusterQueue counts GPUs");
        finds(audited(EXCLUDED, 5, 5,
                      "[{\"metadata\":{\"name\":\"q\"},\"spec\":{\"resourceGroups\":"
                      "[{\"coveredResources\":[\"gpu.das.com/mem\"]}]}}]",
                      LED, FLAVOR),
              1, "open to no namespace");
}

int main(void)
{
        return RUN(CASE(aliases_of_one_instance_count_once), CASE(advertised_memory_is_the_quota),
                   CASE(admission_counts_or_kueue_does),
                   CASE(shares_count_in_total_whatever_their_family),
                   CASE(without_a_cluster_quotas_come_from_arguments),
                   CASE(each_mode_alone_is_well), CASE(both_modes_count_twice),
                   CASE(neither_mode_counts_nothing), CASE(other_faults_of_kueue_are_found));
}
