/* SPDX-License-Identifier: Apache-2.0 */
/* What the scheduler believes of nodes and pods, and what it answers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_read.h"
#include "unit.h"
#include "verbs.h"

/* Two GPUs of 1000 MiB. */
#define DEVICE(id, uuid, memory)                                                    \
        "{\"id\":" id ",\"type\":\"NVIDIA A100\",\"uuid\":\"" uuid                  \
        "\",\"core\":100,\"memory\":" memory                                        \
        ",\"number\":10,\"numa\":0,\"mig\":false,\"busId\":\"0\",\"capability\":8," \
        "\"healthy\":true}"
#define TWO_DEVICES "[" DEVICE("0", "GPU-0", "1000") "," DEVICE("1", "GPU-1", "1000") "]"

static void node_set(struct cluster *cluster, const char *name, const char *registration)
{
        struct err e = { 0 };
        struct vec devices;

        CHECK_EQ(node_devices_parse(registration, &devices, &e), 0);
        CHECK_EQ(cluster_node_set(cluster, name, &devices), 0);
}

static json_t *pod_of(const char *limits)
{
        char text[1024];

        snprintf(text, sizeof text,
                 "{\"metadata\":{},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":"
                 "{\"limits\":%s}}]}}",
                 limits);
        json_t *pod = json_loads(text, 0, NULL);

        CHECK(pod != NULL);
        return pod;
}

static struct gpu_request gpu_request_of(const char *limits)
{
        json_t *pod = pod_of(limits);
        struct gpu_request gpu_request;
        struct err e = { 0 };

        CHECK_EQ(gpu_request_read(pod, false, &gpu_request, &e), 0);
        json_decref(pod);
        return gpu_request;
}

/* Decides, as bind does. */
static int hold(struct cluster *cluster, const char *uid, const char *node_name,
                const struct gpu_request *gpu_request)
{
        const struct cluster_node *node = cluster_node_find(cluster, node_name);
        struct allocation allocation;
        struct placement placement;
        struct err e = { 0 };
        const int r = cluster_place(node, gpu_request, NULL, &placement, &e);

        if (r < 0)
                return r;
        CHECK_EQ(cluster_allocation(node, gpu_request, &placement, uid, &allocation), 0);
        CHECK_EQ(cluster_pod_hold(cluster, uid, &allocation, gpu_request, true), 0);
        allocation_done(&allocation);
        return 0;
}

/* What a verb answers about the nodes a, b and bare. */
static json_t *ask(bool is_filter, const struct cluster *cluster, const char *limits)
{
        const struct verbs verbs = { .cluster = cluster };
        json_t *tree = json_pack("{s:o, s:n, s:[s,s,s]}", "Pod", pod_of(limits), "Nodes",
                                 "NodeNames", "a", "b", "bare");
        char *text = json_dumps(tree, 0);
        struct err e = { 0 };
        struct str reply = { 0 };
        struct request_cache cache;
        struct gpu_request gpu_request;
        struct args args;
        size_t passed = 0;
        int r;

        request_cache_init(&cache);
        CHECK_EQ(args_read(text, strlen(text), NULL, &args, &e), 0);
        if (gpu_request_read(args.pod, false, &gpu_request, &e) < 0)
                r = verbs_filter_error(e.text, &reply);
        else if (is_filter)
                r = verbs_filter(&verbs, &args, request_cache_find(&cache, &gpu_request), &reply,
                                 &passed);
        else
                r = verbs_prioritize(&verbs, &args, request_cache_find(&cache, &gpu_request),
                                     &reply);
        json_t *answer = json_loads(reply.text, 0, NULL);

        CHECK_EQ(r, 0);
        CHECK(answer != NULL);
        CHECK_EQ(passed, json_array_size(json_object_get(answer, "NodeNames")));
        args_done(&args);
        str_done(&reply);
        request_cache_done(&cache);
        free(text);
        json_decref(tree);
        return answer;
}

TEST(filter_says_who_and_why_not)
{
        struct cluster cluster = { 0 };

        node_set(&cluster, "a", TWO_DEVICES);
        node_set(&cluster, "b", "[" DEVICE("0", "GPU-2", "300") "]");
        json_t *answer = ask(true, &cluster, "{\"nvidia.com/gpumem\":\"500\"}");
        const json_t *names = json_object_get(answer, "NodeNames");
        const json_t *failed = json_object_get(answer, "FailedNodes");

        CHECK_EQ(json_array_size(names), 1);
        CHECK_STR(json_string_value(json_array_get(names, 0)), "a");
        CHECK_STR(json_string_value(json_object_get(failed, "b")),
                  "too few GPUs with 500 MiB and 0 cores free: 0 of 1, 1 needed");
        CHECK_STR(json_string_value(json_object_get(failed, "bare")), "no GPU is registered");
        CHECK_STR(json_string_value(json_object_get(answer, "Error")), "");
        json_decref(answer);
        answer = ask(true, &cluster, "{\"nvidia.com/gpucores\":\"200\"}");
        CHECK(strstr(json_string_value(json_object_get(answer, "Error")), "not between"));
        json_decref(answer);
        cluster_done(&cluster);
}

TEST(fuller_nodes_come_first)
{
        struct cluster cluster = { 0 };
        const struct gpu_request gpu_request = gpu_request_of("{\"nvidia.com/gpumem\":\"600\"}");

        node_set(&cluster, "a", TWO_DEVICES);
        node_set(&cluster, "b", TWO_DEVICES);
        CHECK_EQ(hold(&cluster, "u1", "b", &gpu_request), 0);
        json_t *answer = ask(false, &cluster, "{\"nvidia.com/gpumem\":\"100\"}");
        const json_t *first = json_array_get(answer, 0);

        CHECK_EQ(json_array_size(answer), 1); /* the others have nothing more than each other */
        CHECK_STR(json_string_value(json_object_get(first, "Host")), "b");
        CHECK_EQ(json_integer_value(json_object_get(first, "Score")), 3);
        json_decref(answer);
        cluster_done(&cluster);
}

TEST(held_memory_is_unavailable_until_released)
{
        struct cluster cluster = { 0 };
        const struct gpu_request gpu_request = gpu_request_of("{\"nvidia.com/gpumem\":\"600\"}");

        node_set(&cluster, "a", TWO_DEVICES);
        CHECK_EQ(hold(&cluster, "u1", "a", &gpu_request), 0);
        CHECK_EQ(hold(&cluster, "u2", "a", &gpu_request), 0);
        CHECK_EQ(hold(&cluster, "u3", "a", &gpu_request), -ENOSPC);
        cluster_pod_release(&cluster, "u1");
        CHECK_EQ(hold(&cluster, "u3", "a", &gpu_request), 0);
        /* Told again, it holds once. */
        node_set(&cluster, "a", TWO_DEVICES);
        cluster_pod_release(&cluster, "u2");
        CHECK_EQ(hold(&cluster, "u4", "a", &gpu_request), 0);
        CHECK_EQ(hold(&cluster, "u5", "a", &gpu_request), -ENOSPC);
        cluster_done(&cluster);
}

/* kubelet names what it has lost with 0; what it does not name nobody has offered yet. */
TEST(a_node_whose_kubelet_has_lost_vgpu_node_gets_no_pod)
{
        static const struct {
                const char *offers;
                int result;
        } cases[] = { { "{}", 0 },
                      { "{\"nvidia.com/vgpu\":\"0\",\"volcano.sh/vgpu-number\":\"0\"}", -ENOENT },
                      { "{\"nvidia.com/vgpu\":\"20\",\"volcano.sh/vgpu-number\":\"0\"}", 0 } };
        const struct gpu_request gpu_request = gpu_request_of("{\"nvidia.com/vgpu\":\"1\"}");
        struct cluster cluster = { 0 };
        struct placement placement;

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct err e = { 0 };
                json_t *node = json_pack("{s:{s:{s:s}}, s:{s:o}}", "metadata", "annotations",
                                         "nvidia.com/node-device-register", TWO_DEVICES, "status",
                                         "allocatable", json_loads(cases[i].offers, 0, NULL));

                CHECK_EQ(node_read(&cluster, "a", node, &e), 0);
                CHECK_EQ(cluster_place(cluster_node_find(&cluster, "a"), &gpu_request, NULL,
                                       &placement, &e),
                         cases[i].result);
                json_decref(node);
        }
        cluster_done(&cluster);
}

/* After a restart pods may be told before their nodes. */
TEST(a_pod_before_its_node)
{
        static const char text[] = "{\"version\":1,\"pod\":\"u1\",\"node\":\"a\",\"containers\":"
                                   "{\"c\":[{\"uuid\":\"GPU-1\",\"memory\":900,\"cores\":30}]}}";
        const struct gpu_request gpu_request = gpu_request_of("{\"nvidia.com/gpumem\":\"900\"}");
        struct cluster cluster = { 0 };
        struct allocation allocation;
        struct err e = { 0 };

        CHECK_EQ(allocation_parse(text, &allocation, &e), 0);
        CHECK_EQ(cluster_pod_hold(&cluster, "u1", &allocation, &gpu_request, false), 0);
        allocation_done(&allocation);
        CHECK(!cluster_node_find(&cluster, "a"));
        node_set(&cluster, "a", TWO_DEVICES);
        CHECK_EQ(cluster_node_find(&cluster, "a")->placement_devices[1].used.memory_mib, 900);
        CHECK_EQ(cluster_node_find(&cluster, "a")->placement_devices[1].used.cores, 30);
        cluster_node_remove(&cluster, "a");
        CHECK(!cluster_node_find(&cluster, "a"));
        cluster_pod_release(&cluster, "u1");
        CHECK_EQ(cluster.nodes.count, 0);
        cluster_done(&cluster);
}

TEST(an_allocation_survives_its_text)
{
        struct allocation one = { .pod_uid = "u",
                                  .node = "n",
                                  .parts = VEC_OF(struct allocation_part) };
        struct allocation other;
        struct err e = { 0 };

        vec_push(&one.parts, &(struct allocation_part){ "c", "GPU-0", 200, 10 });
        vec_push(&one.parts, &(struct allocation_part){ "c", "GPU-1", 200, 10 });
        vec_push(&one.parts, &(struct allocation_part){ "d", "GPU-0", 300, 0 });
        char *text = allocation_format(&one);

        CHECK_EQ(allocation_parse(text, &other, &e), 0);
        CHECK_STR(other.pod_uid, "u");
        CHECK_EQ(other.parts.count, 3);
        const struct allocation_part *last = vec_at(&other.parts, 2);

        CHECK_STR(last->container, "d");
        CHECK_STR(last->uuid, "GPU-0");
        CHECK_EQ(last->memory_mib, 300);
        CHECK_EQ(last->cores, 0);
        free(text);
        allocation_done(&one);
        allocation_done(&other);
        static const char *const bad[] = {
                "",
                "[]",
                "{\"version\":2,\"pod\":\"u\",\"node\":\"n\",\"containers\":{}}",
                "{\"version\":1,\"pod\":\"u\",\"node\":\"n\",\"containers\":{\"c\":[{}]}}",
                "{\"version\":1,\"pod\":\"u\",\"node\":\"n\",\"containers\":{\"c\":[{\"uuid\":"
                "\"G\","
                "\"memory\":-1,\"cores\":0}]}}",
        };

        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
                CHECK_EQ(allocation_parse(bad[i], &other, &e), -EPROTO);
}

TEST(selectors)
{
        struct gpu_request gpu_request = gpu_request_of("{\"nvidia.com/gpumem\":\"100\"}");

        CHECK(gpu_request_allows(&gpu_request, "NVIDIA A100", "GPU-0"));
        strcpy(gpu_request.use_types, "t4, a100");
        CHECK(gpu_request_allows(&gpu_request, "NVIDIA A100", "GPU-0"));
        CHECK(!gpu_request_allows(&gpu_request, "NVIDIA H100", "GPU-0"));
        strcpy(gpu_request.avoid_uuids, "GPU-0");
        CHECK(!gpu_request_allows(&gpu_request, "NVIDIA A100", "GPU-0"));
        CHECK(gpu_request_allows(&gpu_request, "NVIDIA A100", "GPU-1"));
}

static void used_is_the_sum(const struct cluster *cluster, const char *name)
{
        const struct cluster_node *node = cluster_node_find(cluster, name);

        for (size_t i = 0; node && i < node->devices.count; i++) {
                const struct node_device *device = vec_at(&node->devices, i);
                uint64_t memory = 0, slots = 0;

                for (const struct cluster_pod *pod = node->pods; pod; pod = pod->next) {
                        for (unsigned c = 0; c < pod->charge_count; c++) {
                                if (strcmp(pod->charges[c].uuid, device->uuid) != 0)
                                        continue;
                                memory += pod->charges[c].use.memory_mib;
                                slots += pod->charges[c].use.slots;
                        }
                }
                CHECK_EQ(node->placement_devices[i].used.memory_mib, memory);
                CHECK_EQ(node->placement_devices[i].used.slots, slots);
                CHECK(memory <= device->memory_mib);
        }
}

TEST(a_storm_keeps_the_sums)
{
        struct cluster cluster = { 0 };
        const struct gpu_request gpu_requests[] = {
                gpu_request_of("{\"nvidia.com/gpumem\":\"300\"}"),
                gpu_request_of("{\"nvidia.com/gpucores\":\"40\",\"nvidia.com/"
                               "gpumem\":\"150\"}"),
                gpu_request_of("{\"nvidia.com/vgpu\":\"2\"}")
        };

        srandom(7);
        node_set(&cluster, "a", TWO_DEVICES);
        node_set(&cluster, "b", TWO_DEVICES);
        for (unsigned i = 0; i < 20000; i++) {
                const char *name = random() % 2 ? "a" : "b";
                char uid[16];

                snprintf(uid, sizeof uid, "u%ld", random() % 12);
                if (random() % 20 == 0)
                        cluster_node_remove(&cluster, name);
                else if (random() % 10 == 0)
                        node_set(&cluster, name, TWO_DEVICES);
                else if (random() % 2)
                        cluster_pod_release(&cluster, uid);
                else if (!cluster_pod_find(&cluster, uid) && cluster_node_find(&cluster, name))
                        hold(&cluster, uid, name, &gpu_requests[random() % 3]);
                used_is_the_sum(&cluster, "a");
                used_is_the_sum(&cluster, "b");
        }
        cluster_done(&cluster);
}

int main(void)
{
        return RUN(CASE(a_node_whose_kubelet_has_lost_vgpu_node_gets_no_pod),
                   CASE(filter_says_who_and_why_not), CASE(fuller_nodes_come_first),
                   CASE(held_memory_is_unavailable_until_released), CASE(a_pod_before_its_node),
                   CASE(an_allocation_survives_its_text), CASE(selectors),
                   CASE(a_storm_keeps_the_sums));
}
