/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a container's share says. */
#include "share_content.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "setting.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static struct gpu_set gpus(void)
{
        struct gpu_set set = { .count = 2 };

        for (unsigned i = 0; i < set.count; i++) {
                snprintf(set.gpus[i].uuid, sizeof set.gpus[i].uuid, "GPU-%u", i);
                set.gpus[i].memory_bytes = 4096 * MIB;
        }
        return set;
}

/* The share of container "c" of a pod, as kubectl would write it. */
static int made(const char *annotations, const char *container, const char *decision,
                const struct share_terms *terms, struct share_copy *ret_copy, struct err *e)
{
        const struct gpu_set set = gpus();
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct allocation allocation;
        char text[1024];

        snprintf(text, sizeof text,
                 "{\"metadata\":{\"uid\":\"u-1\",\"namespace\":\"ns\",\"name\":\"p\","
                 "\"annotations\":{%s}}}",
                 annotations);
        json_t *pod = json_loads(text, 0, NULL);
        snprintf(text, sizeof text, "{\"name\":\"c\"%s}", container);
        json_t *one = json_loads(text, 0, NULL);
        CHECK(pod && one);
        snprintf(text, sizeof text,
                 "{\"version\":1,\"pod\":\"u-1\",\"node\":\"n\",\"containers\":{%s}}", decision);
        CHECK_EQ(allocation_parse(text, &allocation, e), 0);
        const int r =
                share_content_make(pod, one, &allocation, &set, terms, ret_copy, gpu_devices, e);
        if (r > 0)
                CHECK_EQ(gpu_devices[0].memory_bytes, 4096 * MIB);
        allocation_done(&allocation);
        json_decref(pod);
        json_decref(one);
        return r;
}

#define ONE(memory, cores) \
        "\"c\":[{\"uuid\":\"GPU-1\",\"memory\":" #memory ",\"cores\":" #cores "}]"
static const struct share_terms plain = { .memory_scaling = 1 };

TEST(a_share_is_what_the_scheduler_decided_for_this_container)
{
        struct share_copy copy;
        struct err e = { 0 };

        CHECK_EQ(made("", "",
                      "\"other\":[{\"uuid\":\"GPU-0\",\"memory\":1,\"cores\":0}],"
                      "\"c\":[{\"uuid\":\"GPU-1\",\"memory\":200,\"cores\":30},"
                      "{\"uuid\":\"GPU-0\",\"memory\":300,\"cores\":0}]",
                      &plain, &copy, &e),
                 1);
        CHECK_EQ(share_check(&copy, &e), 0);
        CHECK_EQ(copy.device_count, 2);
        CHECK_STR(copy.pod_uid, "u-1");
        CHECK_STR(copy.pod_namespace, "ns");
        CHECK_STR(copy.pod_name, "p");
        CHECK_STR(copy.container, "c");
        CHECK_STR(copy.devices[0].uuid, "GPU-1");
        CHECK_EQ(copy.devices[0].limit_bytes, 200 * MIB);
        CHECK_EQ(copy.devices[0].physical_bytes, 200 * MIB);
        CHECK_EQ(copy.devices[0].limit_max_bytes, 200 * MIB);
        CHECK_EQ(copy.devices[0].cores_percent, 30);
        CHECK_EQ(copy.devices[0].device_bytes, 4096 * MIB);
        CHECK_EQ(copy.devices[0].flags, 0);
        CHECK_STR(copy.devices[1].uuid, "GPU-0");
        CHECK_EQ(copy.devices[1].limit_bytes, 300 * MIB);
        CHECK_EQ(copy.devices[1].cores_percent, 0);
}

TEST(a_container_without_an_allocation_has_no_share)
{
        struct share_copy copy;

        CHECK_EQ(made("", "", "\"other\":[{\"uuid\":\"GPU-0\",\"memory\":1,\"cores\":0}]", &plain,
                      &copy, NULL),
                 0);
}

TEST(with_scaling_a_part_of_the_memory_is_physical)
{
        const struct share_terms terms = { .memory_scaling = 2 };
        struct share_copy copy;

        CHECK_EQ(made("", "", ONE(4096, 0), &terms, &copy, NULL), 1);
        CHECK_EQ(copy.devices[0].limit_bytes, 4096 * MIB);
        CHECK_EQ(copy.devices[0].physical_bytes, 2048 * MIB);
}

TEST(an_open_driver_speaks_the_containers_own_pids)
{
        const struct share_terms terms = { .memory_scaling = 1, .speaks_own_pids = true };
        struct share_copy copy;

        CHECK_EQ(made("", "", ONE(200, 0), &terms, &copy, NULL), 1);
        CHECK_EQ(copy.compatibility, COMPATIBILITY_OPEN_KERNEL + 1);
        CHECK_EQ(made("", "", ONE(200, 0), &plain, &copy, NULL), 1);
        CHECK_EQ(copy.compatibility, 0);
}

TEST(annotations_resize_within_their_ceilings)
{
        static const struct {
                const char *annotations;
                int r;
                uint64_t memory_mib;
                unsigned cores;
        } rows[] = {
                { "\"vgpu.io/memory\":\"100Mi\"", 1, 100, 30 },
                { "\"vgpu.io/memory\":\"200Mi\"", 1, 200, 30 },
                { "\"vgpu.io/memory\":\"201Mi\"", -EINVAL, 0, 0 },
                { "\"vgpu.io/memory\":\"300Mi\",\"vgpu.io/memory-max\":\"300Mi\"", 1, 300, 30 },
                { "\"vgpu.io/memory\":\"301Mi\",\"vgpu.io/memory-max\":\"300Mi\"", -EINVAL, 0, 0 },
                { "\"vgpu.io/memory-max\":\"100Mi\"", 1, 200, 30 },
                { "\"vgpu.io/cores\":\"10\"", 1, 200, 10 },
                { "\"vgpu.io/cores\":\"31\"", -EINVAL, 0, 0 },
                { "\"vgpu.io/cores\":\"50\",\"vgpu.io/cores-max\":\"50\"", 1, 200, 50 },
                { "\"vgpu.io/cores\":\"some\"", -EINVAL, 0, 0 },
                { "\"vgpu.io/memory\":\"lots\"", -EINVAL, 0, 0 },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct share_copy copy;
                struct err e = { 0 };

                CHECK_EQ(made(rows[i].annotations, "", ONE(200, 30), &plain, &copy, &e), rows[i].r);
                if (rows[i].r < 0) {
                        CHECK(strstr(e.text, "container 'c': vgpu.io/"));
                        continue;
                }
                CHECK_EQ(copy.devices[0].limit_bytes, rows[i].memory_mib * MIB);
                CHECK_EQ(copy.devices[0].cores_percent, rows[i].cores);
                CHECK_EQ(share_check(&copy, &e), 0);
        }
}

TEST(without_a_limit_of_compute_any_may_be_set)
{
        struct share_copy copy;

        CHECK_EQ(made("\"vgpu.io/cores\":\"100\"", "", ONE(200, 0), &plain, &copy, NULL), 1);
        CHECK_EQ(copy.devices[0].cores_percent, 100);
}

#define ENV(name, value) ",\"env\":[{\"name\":\"" name "\",\"value\":\"" value "\"}]"

TEST(oversold_in_the_containers_environment_reaches_the_share)
{
        const struct share_terms bounded = { .memory_scaling = 1, .host_bytes = 1024 * MIB };
        struct share_copy copy;

        CHECK_EQ(made("", ENV("CUDA_MEM_OVERSOLD", "true"), ONE(4096, 100), &plain, &copy, NULL),
                 1);
        CHECK_EQ(copy.devices[0].flags, SHARE_OVERSOLD);
        CHECK_EQ(copy.devices[0].host_bytes, 4096 * MIB);
        CHECK_EQ(made("", ENV("CUDA_MEM_OVERSOLD", "true"), ONE(4096, 100), &bounded, &copy, NULL),
                 1);
        CHECK_EQ(copy.devices[0].host_bytes, 1024 * MIB);
        CHECK_EQ(made("", ENV("CUDA_MEM_OVERSOLD", "false"), ONE(4096, 100), &plain, &copy, NULL),
                 1);
        CHECK_EQ(copy.devices[0].flags, 0);
}

TEST(the_environment_never_says_how_much_there_is)
{
        struct share_copy copy;

        CHECK_EQ(made("",
                      ",\"env\":[{\"name\":\"CUDA_DEVICE_MEMORY_LIMIT\",\"value\":\"4g\"},"
                      "{\"name\":\"CUDA_DEVICE_SM_LIMIT\",\"value\":\"90\"},"
                      "{\"name\":\"VGPU_CONTEXT_MEMORY\",\"value\":\"exempt\"},"
                      "{\"name\":\"CUDA_MEM_RATIO\",\"value\":\"4\"},"
                      "{\"name\":\"VGPU_OVERSOLD_HOST_MEMORY\",\"value\":\"90g\"}]",
                      ONE(200, 30), &plain, &copy, NULL),
                 1);
        CHECK_EQ(copy.devices[0].limit_bytes, 200 * MIB);
        CHECK_EQ(copy.devices[0].physical_bytes, 200 * MIB);
        CHECK_EQ(copy.devices[0].cores_percent, 30);
        CHECK_EQ(copy.devices[0].flags, 0);
        CHECK_EQ(copy.devices[0].host_bytes, 0);
}

TEST(not_to_be_limited_is_to_have_what_is_idle)
{
        struct share_copy copy;

        CHECK_EQ(made("", ENV("GPU_CORE_UTILIZATION_POLICY", "disable"), ONE(200, 30), &plain,
                      &copy, NULL),
                 1);
        CHECK_EQ(copy.devices[0].policy, SHARE_POLICY_BALANCE);
        CHECK_EQ(share_cap_percent(&copy.devices[0]), 100);
        CHECK_EQ(copy.devices[0].cores_percent, 30);
}

TEST(an_annotation_says_how_compute_is_held_where_the_environment_does_not)
{
        static const char theirs[] = "\"nvidia.com/vgpu-compute-policy\":\"balance\"";
        struct share_copy copy;
        struct err e = { 0 };

        CHECK_EQ(made(theirs, "", ONE(200, 30), &plain, &copy, &e), 1);
        CHECK_EQ(copy.devices[0].policy, SHARE_POLICY_BALANCE);
        CHECK_EQ(made("\"vgpu.io/cores-policy\":\"fixed\","
                      "\"nvidia.com/vgpu-compute-policy\":\"balance\"",
                      "", ONE(200, 30), &plain, &copy, &e),
                 1);
        CHECK_EQ(copy.devices[0].policy, SHARE_POLICY_FIXED);
        CHECK_EQ(made(theirs, ENV("GPU_CORE_UTILIZATION_POLICY", "force"), ONE(200, 30), &plain,
                      &copy, &e),
                 1);
        CHECK_EQ(copy.devices[0].policy, SHARE_POLICY_FIXED);
        CHECK_EQ(made("\"vgpu.io/cores-policy\":\"soft\"", "", ONE(200, 30), &plain, &copy, &e),
                 -EINVAL);
        CHECK_STR(e.text, "container 'c': vgpu.io/cores-policy: invalid value 'soft' (expected one "
                          "of: fixed, balance, none)");
}

TEST(a_soft_limit_is_not_below_the_hard_one)
{
        struct share_copy copy;
        struct err e = { 0 };

        CHECK_EQ(made("", ENV("CUDA_CORE_SOFT_LIMIT", "60"), ONE(200, 30), &plain, &copy, &e), 1);
        CHECK_EQ(share_cap_percent(&copy.devices[0]), 60);
        CHECK_EQ(made("", ENV("CUDA_CORE_SOFT_LIMIT", "20"), ONE(200, 30), &plain, &copy, &e),
                 -EINVAL);
        CHECK_STR(e.text, "container 'c': VGPU_CORES_MAX of 20 is below the allocation of 30");
}

TEST(urgent_is_priority_zero_by_resource_or_environment)
{
        struct share_copy copy;

        CHECK_EQ(made("", ",\"resources\":{\"limits\":{\"nvidia.com/priority\":\"0\"}}",
                      ONE(200, 30), &plain, &copy, NULL),
                 1);
        CHECK_EQ(copy.devices[0].flags, SHARE_LATENCY);
        CHECK_EQ(made("", ",\"resources\":{\"limits\":{\"nvidia.com/priority\":\"1\"}}",
                      ONE(200, 30), &plain, &copy, NULL),
                 1);
        CHECK_EQ(copy.devices[0].flags, 0);
        CHECK_EQ(made("", ENV("CUDA_TASK_PRIORITY", "0"), ONE(200, 30), &plain, &copy, NULL), 1);
        CHECK_EQ(copy.devices[0].flags, SHARE_LATENCY);
}

TEST(a_misspelled_variable_is_reported)
{
        struct share_copy copy;
        struct err e = { 0 };

        CHECK_EQ(made("", ENV("CUDA_MEM_OVERSOLD", "ture"), ONE(200, 30), &plain, &copy, &e),
                 -EINVAL);
        CHECK(strstr(e.text, "container 'c': CUDA_MEM_OVERSOLD: invalid value 'ture' (expected"));
        CHECK_EQ(made("", ENV("CUDA_MEM_OVERSOLT", "true"), ONE(200, 30), &plain, &copy, &e),
                 -EINVAL);
        CHECK(strstr(e.text, "'CUDA_MEM_OVERSOLT' (did you mean 'CUDA_MEM_OVERSOLD'?)"));
        CHECK_EQ(made("", ENV("VGPU_MEMORY_SERVICE_HOST", "1"), ONE(200, 30), &plain, &copy, &e),
                 1);
}

TEST(of_two_variables_with_one_name_the_last_counts)
{
        struct share_copy copy;

        CHECK_EQ(made("",
                      ",\"env\":[{\"name\":\"CUDA_MEM_OVERSOLD\",\"value\":\"true\"},"
                      "{\"name\":\"CUDA_MEM_OVERSOLD\",\"value\":\"false\"}]",
                      ONE(200, 30), &plain, &copy, NULL),
                 1);
        CHECK_EQ(copy.devices[0].flags, 0);
}

TEST(a_gpu_of_another_node_is_none_of_ours)
{
        struct share_copy copy;
        struct err e = { 0 };

        CHECK_EQ(made("", "", "\"c\":[{\"uuid\":\"GPU-9\",\"memory\":1,\"cores\":0}]", &plain,
                      &copy, &e),
                 -ENODEV);
        CHECK_STR(e.text, "container 'c': GPU GPU-9 is not on this node");
}

TEST(the_origin_changes_with_what_is_said_and_only_then)
{
        struct share_copy a, b, c;

        CHECK_EQ(made("", "", ONE(200, 30), &plain, &a, NULL), 1);
        CHECK_EQ(made("\"other\":\"x\"", "", ONE(200, 30), &plain, &b, NULL), 1);
        CHECK_EQ(made("\"vgpu.io/cores\":\"29\"", "", ONE(200, 30), &plain, &c, NULL), 1);
        CHECK(a.origin == b.origin && a.origin != c.origin && a.origin);
}

int main(void)
{
        return RUN(CASE(a_share_is_what_the_scheduler_decided_for_this_container),
                   CASE(a_container_without_an_allocation_has_no_share),
                   CASE(with_scaling_a_part_of_the_memory_is_physical),
                   CASE(an_open_driver_speaks_the_containers_own_pids),
                   CASE(annotations_resize_within_their_ceilings),
                   CASE(without_a_limit_of_compute_any_may_be_set),
                   CASE(oversold_in_the_containers_environment_reaches_the_share),
                   CASE(the_environment_never_says_how_much_there_is),
                   CASE(not_to_be_limited_is_to_have_what_is_idle),
                   CASE(an_annotation_says_how_compute_is_held_where_the_environment_does_not),
                   CASE(a_soft_limit_is_not_below_the_hard_one),
                   CASE(urgent_is_priority_zero_by_resource_or_environment),
                   CASE(a_misspelled_variable_is_reported),
                   CASE(of_two_variables_with_one_name_the_last_counts),
                   CASE(a_gpu_of_another_node_is_none_of_ours),
                   CASE(the_origin_changes_with_what_is_said_and_only_then));
}
