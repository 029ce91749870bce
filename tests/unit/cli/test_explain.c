/* SPDX-License-Identifier: Apache-2.0 */
/* Every state of a pod is told from what the API server has. */
#include "explain.h"

#include <stdio.h>
#include <string.h>

#include "node_read.h"
#include "resource.h"
#include "unit.h"

#define GPU(id)                                                                                  \
        "{\"id\":" id ",\"type\":\"A100\",\"uuid\":\"GPU-" id "\",\"core\":100,\"memory\":1000," \
        "\"number\":10,\"numa\":0,\"mig\":false,\"busId\":\"0\",\"capability\":8,\"healthy\":"   \
        "true}"

struct way {
        struct cluster cluster;
        json_t *nodes, *explanation;
        enum explain_verdict verdict;
};

/* Two nodes: "a" with a GPU of 1000 MiB, "bare" without. */
static struct way way_new(void)
{
        struct way way = { .nodes = json_pack("[s,s]", "a", "bare") };
        json_t *node = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
                                 "nvidia.com/node-device-register", "[" GPU("0") "]");

        CHECK_EQ(node_read(&way.cluster, "a", node, NULL), 0);
        json_decref(node);
        return way;
}

static void way_done(struct way *way)
{
        cluster_done(&way->cluster);
        json_decref(way->nodes);
        json_decref(way->explanation);
}

/* The pod's text: metadata, spec and status beyond what all have. */
static const char *explained_state(struct way *way, const char *memory, const char *metadata,
                                   const char *spec, const char *status)
{
        char text[2048];
        json_error_t error;

        snprintf(text, sizeof text,
                 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\"%s},\"spec\":{"
                 "\"schedulerName\":\"vgpu-scheduler\"%s,\"containers\":[{\"name\":\"c\","
                 "\"resources\":{\"limits\":{%s}}}]},\"status\":{%s}}",
                 metadata, spec, memory, status);
        json_t *pod = json_loads(text, 0, &error);

        CHECK(pod != NULL);
        json_decref(way->explanation);
        way->explanation = explain_make(&(struct explain_facts){ .pod = pod,
                                                                 .nodes = way->nodes,
                                                                 .cluster = &way->cluster },
                                        &way->verdict);
        json_decref(pod);
        return json_string_value(json_object_get(way->explanation, "state"));
}

#define SEEN ",\"annotations\":{\"vgpu.io/container-uuids\":\"{}\"}"
#define KEPT \
        ",\"annotations\":{\"vgpu.io/container-uuids\":\"{}\",\"vgpu.io/nominated-node\":\"a\"}"
#define SMALL "\"nvidia.com/gpumem\":\"600\""
#define LARGE "\"nvidia.com/gpumem\":\"6000\""

TEST(a_pod_that_is_not_placed)
{
        struct way way = way_new();

        CHECK_STR(explained_state(&way, "\"cpu\":\"1\"", "", "", ""), "nothing");
        CHECK_EQ(way.verdict, EXPLAIN_NOTHING);
        CHECK_STR(explained_state(&way, "\"nvidia.com/gpucores\":\"700\"", "", "", ""), "refused");
        CHECK_EQ(way.verdict, EXPLAIN_WAITS);
        CHECK_STR(explained_state(&way, SMALL, "", "", ""), "webhook");
        CHECK_STR(explained_state(&way, LARGE, KEPT, "", ""), "preempts");
        CHECK_STR(explained_state(&way, SMALL, SEEN,
                                  ",\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/admission\"}]",
                                  ""),
                  "quota");
        CHECK_STR(explained_state(&way, SMALL, SEEN, ",\"schedulingGates\":[{\"name\":\"x\"}]", ""),
                  "gated");
        CHECK_STR(explained_state(&way, SMALL, SEEN, "", ""), "scheduler");
        CHECK_EQ(json_array_size(json_object_get(way.explanation, "fitting")), 1);
        CHECK_STR(explained_state(&way, LARGE, SEEN, "",
                                  "\"conditions\":[{\"type\":\"PodScheduled\",\"message\":\"m\"}]"),
                  "full");
        CHECK_STR(json_string_value(json_object_get(way.explanation, "scheduler_message")), "m");
        const json_t *nodes = json_object_get(way.explanation, "nodes");

        CHECK_EQ(json_array_size(nodes), 2);
        CHECK_STR(json_string_value(json_object_get(json_array_get(nodes, 0), "reason")),
                  "too few GPUs with 6000 MiB and 0 cores free: 0 of 1, 1 needed");
        CHECK_STR(json_string_value(json_object_get(json_array_get(nodes, 1), "reason")),
                  "no GPU is registered");
        way_done(&way);
}

#define DECIDED(pod)                                                                              \
        ",\"annotations\":{\"vgpu.io/allocation\":\"{\\\"version\\\":1,\\\"pod\\\":\\\"" pod      \
        "\\\",\\\"node\\\":\\\"a\\\",\\\"containers\\\":{\\\"c\\\":[{\\\"uuid\\\":\\\"GPU-0\\\"," \
        "\\\"memory\\\":600,\\\"cores\\\":0}]}}\"}"
#define ON_A ",\"nodeName\":\"a\""

TEST(a_pod_that_is_on_a_node)
{
        struct way way = way_new();

        CHECK_STR(explained_state(&way, SMALL, "", ON_A, "\"phase\":\"Running\""), "unaccounted");
        CHECK_EQ(way.verdict, EXPLAIN_WAITS);
        CHECK_STR(explained_state(&way, SMALL, DECIDED("another"), ON_A, "\"phase\":\"Running\""),
                  "unaccounted");
        CHECK_STR(explained_state(&way, SMALL, DECIDED("u"), ON_A, "\"phase\":\"Pending\""),
                  "node");
        CHECK_EQ(way.verdict, EXPLAIN_PLACED);
        CHECK_STR(explained_state(
                          &way, SMALL, DECIDED("u"), ON_A,
                          "\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{"
                          "\"reason\":\"ErrImagePull\"}}}]"),
                  "node");
        CHECK(strstr(json_string_value(json_object_get(way.explanation, "sentence")),
                     "ErrImagePull"));
        CHECK_STR(explained_state(&way, SMALL, DECIDED("u"), ON_A, "\"phase\":\"Running\""),
                  "running");
        const json_t *gpu = json_array_get(json_object_get(way.explanation, "gpus"), 0);

        CHECK_STR(json_string_value(json_object_get(gpu, "uuid")), "GPU-0");
        CHECK_EQ(json_integer_value(json_object_get(gpu, "memory_mib")), 600);
        CHECK_STR(explained_state(&way, SMALL, DECIDED("u"), ON_A, "\"phase\":\"Succeeded\""),
                  "ended");
        way_done(&way);
}

/* The last one: a domain is said once, when a program starts. */
TEST(a_pod_that_asks_by_the_operators_own_names)
{
        static const char asks[] = "\"gpu.example.com/gpumem\":\"6000\"";
        struct way way = way_new();

        CHECK_STR(explained_state(&way, asks, SEEN, "", ""), "nothing");
        CHECK_EQ(resource_use_domain("gpu.example.com", NULL), 0);
        CHECK_STR(explained_state(&way, asks, SEEN, "", ""), "full");
        way_done(&way);
}

int main(void)
{
        return RUN(CASE(a_pod_that_is_not_placed), CASE(a_pod_that_is_on_a_node),
                   CASE(a_pod_that_asks_by_the_operators_own_names));
}
