/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the share of a container with MIG devices. */
#include "mig_share.h"

#include <errno.h>

#include "pod_list.h"
#include "str.h"
#include "unit.h"

static const struct mig_share_owner owner = { "uid-1", "space", "pod", "main" };

static const struct mig_starts starts; /* nobody starts */

static void gpus_make(struct gpu_set *gpus)
{
        gpus->count = 1;
        gpus->part_count = 2;
        str_copy(gpus->parts[1].uuid, sizeof gpus->parts[1].uuid, "MIG-2");
        gpus->parts[1].memory_bytes = 5000;
}

TEST(a_container_has_all_of_the_device_that_kubelet_chose)
{
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct gpu_set gpus = { 0 };
        struct pod_list made = { 0 };
        struct share_copy copy;
        struct err e;

        gpus_make(&gpus);
        CHECK_EQ(mig_share_make(pod_list(&made, "nvidia.com/mig-1g.5gb", "MIG-2"), &starts, 0,
                                &owner, &gpus, &copy, gpu_devices, &e),
                 1);
        CHECK_EQ(copy.device_count, 1);
        CHECK_STR(copy.devices[0].uuid, "MIG-2");
        CHECK_EQ(copy.devices[0].limit_bytes, 5000);
        CHECK_EQ(copy.devices[0].physical_bytes, 5000);
        CHECK_EQ(copy.devices[0].cores_percent, 0);
        CHECK_EQ(gpu_devices[0].memory_bytes, 5000);
        CHECK_STR(copy.pod_uid, "uid-1");
        CHECK_STR(copy.container, "main");
        CHECK_EQ(share_check(&copy, &e), 0);
}

TEST(a_container_without_mig_devices_has_no_mig_share)
{
        static const struct mig_share_owner others[] = { { "u", "other", "pod", "main" },
                                                         { "u", "space", "other", "main" },
                                                         { "u", "space", "pod", "other" } };
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct gpu_set gpus = { 0 };
        struct pod_list made = { 0 };
        struct share_copy copy;
        struct err e;

        gpus_make(&gpus);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                CHECK_EQ(mig_share_make(pod_list(&made, "nvidia.com/mig-1g.5gb", "MIG-2"), &starts,
                                        0, &others[i], &gpus, &copy, gpu_devices, &e),
                         0);
        CHECK_EQ(mig_share_make(pod_list(&made, "nvidia.com/vgpu", "vgpu-1"), &starts, 0, &owner,
                                &gpus, &copy, gpu_devices, &e),
                 0);
        CHECK_EQ(mig_share_make(pod_list(&made, NULL, NULL), &starts, 0, &owner, &gpus, &copy,
                                gpu_devices, &e),
                 0);
}

TEST(a_device_that_is_gone_is_an_error)
{
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct gpu_set gpus = { 0 };
        struct pod_list made = { 0 };
        struct share_copy copy;
        struct err e;

        gpus_make(&gpus);
        CHECK_EQ(mig_share_make(pod_list(&made, "nvidia.com/mig-1g.5gb", "MIG-3"), &starts, 0,
                                &owner, &gpus, &copy, gpu_devices, &e),
                 -ENODEV);
        CHECK_STR(e.text, "MIG device MIG-3 is not on this node");
}

/* kubelet lists the pod's main container, whose device it will be. */
TEST(an_init_container_has_what_it_is_started_with)
{
        static const struct mig_share_owner init = { "uid-1", "space", "pod", "init" };
        static const struct mig_share_owner other = { "uid-2", "space", "other", "init" };
        static char *own[] = { (char *)"MIG-2" }, *others[] = { (char *)"MIG-1" };
        const char resource[] = "nvidia.com/mig-1g.5gb";
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct gpu_set gpus = { 0 };
        struct pod_list made = { 0 };
        struct share_copy copy;
        struct mig_starts begun;
        struct err e;

        gpus_make(&gpus);
        str_copy(gpus.parts[0].uuid, sizeof gpus.parts[0].uuid, "MIG-1");
        mig_starts_init(&begun);
        const V1__ListPodResourcesResponse *list = pod_list(&made, resource, "MIG-2");
        mig_starts_note(&begun, resource, others, 1, 0);
        CHECK_EQ(mig_share_make(list, &begun, 0, &init, &gpus, &copy, gpu_devices, &e), 0);
        mig_starts_note(&begun, resource, own, 1, 5);
        CHECK_EQ(mig_share_make(list, &begun, 6, &other, &gpus, &copy, gpu_devices, &e), 0);
        CHECK_EQ(mig_share_make(list, &begun, 6, &init, &gpus, &copy, gpu_devices, &e), 1);
        CHECK_EQ(copy.device_count, 1);
        CHECK_STR(copy.devices[0].uuid, "MIG-2");
        CHECK_STR(copy.container, "init");
        CHECK_EQ(mig_share_make(list, &begun, 5 + MIG_START_NS, &init, &gpus, &copy, gpu_devices,
                                &e),
                 0);
        mig_starts_forget(&begun, "MIG-2"); /* it has started; the next init container has none */
        CHECK_EQ(mig_share_make(list, &begun, 6, &init, &gpus, &copy, gpu_devices, &e), 0);
        mig_starts_done(&begun);
}

/* Those of the init container that no other of the pod will have are not in the list. */
TEST(an_init_container_may_have_more_than_those_that_follow)
{
        static const struct mig_share_owner init = { "uid-1", "space", "pod", "init" };
        static char *both[] = { (char *)"MIG-1", (char *)"MIG-2" };
        const char resource[] = "nvidia.com/mig-1g.5gb";
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct gpu_set gpus = { 0 };
        struct pod_list made = { 0 };
        struct share_copy copy;
        struct mig_starts begun;
        struct err e;

        gpus_make(&gpus);
        str_copy(gpus.parts[0].uuid, sizeof gpus.parts[0].uuid, "MIG-1");
        mig_starts_init(&begun);
        mig_starts_note(&begun, resource, both, 2, 0);
        CHECK_EQ(mig_share_make(pod_list(&made, resource, "MIG-2"), &begun, 1, &init, &gpus, &copy,
                                gpu_devices, &e),
                 1);
        CHECK_EQ(copy.device_count, 2);
        mig_starts_done(&begun);
}

int main(void)
{
        return RUN(CASE(an_init_container_has_what_it_is_started_with),
                   CASE(an_init_container_may_have_more_than_those_that_follow),
                   CASE(a_container_has_all_of_the_device_that_kubelet_chose),
                   CASE(a_container_without_mig_devices_has_no_mig_share),
                   CASE(a_device_that_is_gone_is_an_error));
}
