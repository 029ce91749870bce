/* SPDX-License-Identifier: Apache-2.0 */
/* Volcano's decision on a pod, and whose decision holds. */
#include "volcano.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pod_allocation.h"
#include "unit.h"

/* A pod on node n whose containers have these limits, with these annotations. */
static json_t *pod_make(const char *containers, const char *annotations)
{
        char text[2048];

        snprintf(text, sizeof text,
                 "{\"metadata\":{\"uid\":\"u-1\",\"annotations\":{%s}},"
                 "\"spec\":{\"nodeName\":\"n\",\"containers\":[%s]}}",
                 annotations, containers);
        json_t *pod = json_loads(text, 0, NULL);

        CHECK(pod != NULL);
        return pod;
}

#define CONTAINER(name, limits) "{\"name\":\"" name "\",\"resources\":{\"limits\":{" limits "}}}"
#define ONE                     "\"volcano.sh/vgpu-number\":1,\"volcano.sh/vgpu-memory\":3000"
#define TWO                     "\"volcano.sh/vgpu-number\":2,\"volcano.sh/vgpu-cores\":50"
#define PLAIN                   "{\"name\":\"plain\"}"
#define DECIDED(ids)            "\"volcano.sh/vgpu-ids-new\":\"" ids "\",\"volcano.sh/vgpu-node\":\"n\""

static int read_pod(const char *containers, const char *annotations,
                    struct allocation *ret_allocation, struct err *e)
{
        json_t *pod = pod_make(containers, annotations);
        const int r = pod_allocation_read(pod, ret_allocation, e);

        json_decref(pod);
        return r;
}

static void refused(const char *containers, const char *annotations, const char *sentence)
{
        struct allocation allocation;
        struct err e = { 0 };

        CHECK_EQ(read_pod(containers, annotations, &allocation, &e), -EPROTO);
        if (!strstr(e.text, sentence))
                CHECK_STR(e.text, sentence);
}

static void part_is(const struct allocation *allocation, size_t index, const char *container,
                    const char *uuid, uint64_t memory_mib, uint32_t cores)
{
        const struct allocation_part *part = vec_at(&allocation->parts, index);

        CHECK(part != NULL);
        CHECK_STR(part->container, container);
        CHECK_STR(part->uuid, uuid);
        CHECK_EQ(part->memory_mib, memory_mib);
        CHECK_EQ(part->cores, cores);
}

TEST(a_decision_names_gpus_container_by_container)
{
        struct allocation allocation;
        struct err e = { 0 };

        CHECK_EQ(read_pod(CONTAINER("a", ONE) "," PLAIN "," CONTAINER("b", TWO),
                          DECIDED("GPU-1,NVIDIA,3000,0:;GPU-1,NVIDIA,40960,50:GPU-2,NVIDIA,40960,"
                                  "50:"),
                          &allocation, &e),
                 0);
        CHECK_EQ(allocation.parts.count, 3);
        CHECK_STR(allocation.node, "n");
        part_is(&allocation, 0, "a", "GPU-1", 3000, 0);
        part_is(&allocation, 1, "b", "GPU-1", 40960, 50);
        part_is(&allocation, 2, "b", "GPU-2", 40960, 50);
        allocation_done(&allocation);
}

TEST(an_init_container_has_no_entry)
{
        struct allocation allocation;
        struct err e = { 0 };
        json_t *pod = pod_make(CONTAINER("a", ONE), DECIDED("GPU-1,NVIDIA,3000,0:"));

        json_object_set_new(json_object_get(pod, "spec"), "initContainers",
                            json_loads("[" CONTAINER("init", ONE) "]", 0, NULL));
        CHECK_EQ(pod_allocation_read(pod, &allocation, &e), 0);
        CHECK_EQ(allocation.parts.count, 1);
        part_is(&allocation, 0, "a", "GPU-1", 3000, 0);
        allocation_done(&allocation);
        json_decref(pod);
}

TEST(memory_alone_is_one_gpu)
{
        struct allocation allocation;
        struct err e = { 0 };

        CHECK_EQ(read_pod(CONTAINER("a", "\"volcano.sh/vgpu-memory\":100"),
                          DECIDED("GPU-1,NVIDIA,100,0:"), &allocation, &e),
                 0);
        part_is(&allocation, 0, "a", "GPU-1", 100, 0);
        allocation_done(&allocation);
}

TEST(without_annotations_nobody_decided)
{
        struct allocation allocation;
        struct err e = { 0 };

        CHECK_EQ(read_pod(CONTAINER("a", ONE), "", &allocation, &e), -ENOENT);
}

TEST(what_is_damaged_is_refused)
{
        refused(CONTAINER("a", ONE), DECIDED("GPU-1,NVIDIA,3000:"), "not a GPU");
        refused(CONTAINER("a", ONE), DECIDED("GPU-1,NVIDIA,3000,0,1:"), "not a GPU");
        refused(CONTAINER("a", ONE), DECIDED(",NVIDIA,3000,0:"), "not a GPU");
        refused(CONTAINER("a", ONE), DECIDED("GPU-1,NVIDIA,-1,0:"), "not a GPU");
        refused(CONTAINER("a", ONE), DECIDED("GPU-1,NVIDIA,0,0:"), "not a GPU");
        refused(CONTAINER("a", ONE), DECIDED("GPU-1,NVIDIA,9999999999999999,0:"), "not a GPU");
        refused(CONTAINER("a", ONE), DECIDED("GPU-1,NVIDIA,3000,101:"), "not a GPU");
        refused(CONTAINER("a", ONE), DECIDED("::"), "not a GPU");
}

TEST(other_numbers_than_asked_for_are_refused)
{
        refused(CONTAINER("a", TWO), DECIDED("GPU-1,NVIDIA,1,50:"), "it requests 2");
        refused(CONTAINER("a", TWO), DECIDED("GPU-1,NVIDIA,1,50:GPU-1,NVIDIA,1,50:"), "not a GPU");
        refused(CONTAINER("a", ONE) "," CONTAINER("b", ONE), DECIDED("GPU-1,NVIDIA,3000,0:"),
                "0 GPUs to container 'b'");
        refused(CONTAINER("a", ONE), DECIDED("GPU-1,NVIDIA,3000,0:;GPU-2,NVIDIA,3000,0:"),
                "more containers than the pod has");
        refused(PLAIN, DECIDED("GPU-1,NVIDIA,3000,0:"), "more containers than the pod has");
}

TEST(a_decision_for_another_node_is_none_for_this_one)
{
        refused(CONTAINER("a", ONE),
                "\"volcano.sh/vgpu-ids-new\":\"GPU-1,NVIDIA,3000,0:\","
                "\"volcano.sh/vgpu-node\":\"other\"",
                "another node");
}

TEST(our_own_decision_comes_first)
{
        struct allocation allocation;
        struct err e = { 0 };

        CHECK_EQ(read_pod(CONTAINER("a", ONE),
                          DECIDED("GPU-1,NVIDIA,3000,0:") ",\"vgpu.io/"
                                                          "allocation\":\"{\\\"version\\\":1,"
                                                          "\\\"pod\\\":\\\"u-1\\\",\\\"node\\\":"
                                                          "\\\"n\\\",\\\"containers\\\":{\\\"a\\\":"
                                                          "[{\\\"uuid\\\":\\\"GPU-9\\\","
                                                          "\\\"memory\\\":7,\\\"cores\\\":1}]}}\"",
                          &allocation, &e),
                 0);
        part_is(&allocation, 0, "a", "GPU-9", 7, 1);
        allocation_done(&allocation);
        refused(CONTAINER("a", ONE),
                DECIDED("GPU-1,NVIDIA,3000,0:") ",\"vgpu.io/allocation\":\"{}\"", "not an allocation");
}

TEST(what_is_written_for_volcano_reads_back)
{
        static const char text[] =
                "GPU-1,NVIDIA,3000,0:;GPU-1,NVIDIA,40960,50:GPU-2,NVIDIA,40960,50:";
        struct allocation allocation;
        struct err e = { 0 };

        CHECK_EQ(read_pod(CONTAINER("a", ONE) "," CONTAINER("b", TWO),
                          DECIDED("GPU-1,NVIDIA,3000,0:;GPU-1,NVIDIA,40960,50:GPU-2,NVIDIA,40960,"
                                  "50:"),
                          &allocation, &e),
                 0);
        char *again = volcano_decision_format(&allocation);

        CHECK_STR(again, text);
        free(again);
        allocation_done(&allocation);
}

int main(void)
{
        return RUN(CASE(a_decision_names_gpus_container_by_container),
                   CASE(an_init_container_has_no_entry), CASE(memory_alone_is_one_gpu),
                   CASE(without_annotations_nobody_decided), CASE(what_is_damaged_is_refused),
                   CASE(other_numbers_than_asked_for_are_refused),
                   CASE(a_decision_for_another_node_is_none_for_this_one),
                   CASE(our_own_decision_comes_first),
                   CASE(what_is_written_for_volcano_reads_back));
}
