/* Tests of the share of a container with MIG devices. */
#include "mig_share.h"

#include <errno.h>

#include "pod_list.h"
#include "str.h"
#include "unit.h"

static const struct mig_share_owner owner = { "uid-1", "space", "pod", "main" };

static void gpus_make(struct gpu_set *gpus)
{
        gpus->count = 1;
        gpus->part_count = 2;
        str_copy(gpus->parts[1].uuid, sizeof gpus->parts[1].uuid, "MIG-2");
        gpus->parts[1].memory_bytes = 5000;
}

TEST(a_container_has_all_of_the_device_that_kubelet_chose)
{
        struct gpu_card cards[SHARE_DEVICES];
        struct gpu_set gpus = { 0 };
        struct pod_list made = { 0 };
        struct share_copy copy;
        struct err e;

        gpus_make(&gpus);
        CHECK_EQ(mig_share_make(pod_list(&made, "nvidia.com/mig-1g.5gb", "MIG-2"), &owner, &gpus,
                                &copy, cards, &e),
                 1);
        CHECK_EQ(copy.device_count, 1);
        CHECK_STR(copy.devices[0].uuid, "MIG-2");
        CHECK_EQ(copy.devices[0].limit_bytes, 5000);
        CHECK_EQ(copy.devices[0].physical_bytes, 5000);
        CHECK_EQ(copy.devices[0].cores_percent, 0);
        CHECK_EQ(cards[0].memory_bytes, 5000);
        CHECK_STR(copy.pod_uid, "uid-1");
        CHECK_STR(copy.container, "main");
        CHECK_EQ(share_check(&copy, &e), 0);
}

TEST(who_holds_none_has_no_such_share)
{
        static const struct mig_share_owner others[] = { { "u", "other", "pod", "main" },
                                                         { "u", "space", "other", "main" },
                                                         { "u", "space", "pod", "other" } };
        struct gpu_card cards[SHARE_DEVICES];
        struct gpu_set gpus = { 0 };
        struct pod_list made = { 0 };
        struct share_copy copy;
        struct err e;

        gpus_make(&gpus);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                CHECK_EQ(mig_share_make(pod_list(&made, "nvidia.com/mig-1g.5gb", "MIG-2"),
                                        &others[i], &gpus, &copy, cards, &e),
                         0);
        CHECK_EQ(mig_share_make(pod_list(&made, "nvidia.com/vgpu", "vgpu-1"), &owner, &gpus, &copy,
                                cards, &e),
                 0);
        CHECK_EQ(mig_share_make(pod_list(&made, NULL, NULL), &owner, &gpus, &copy, cards, &e), 0);
}

TEST(a_device_that_is_gone_is_an_error)
{
        struct gpu_card cards[SHARE_DEVICES];
        struct gpu_set gpus = { 0 };
        struct pod_list made = { 0 };
        struct share_copy copy;
        struct err e;

        gpus_make(&gpus);
        CHECK_EQ(mig_share_make(pod_list(&made, "nvidia.com/mig-1g.5gb", "MIG-3"), &owner, &gpus,
                                &copy, cards, &e),
                 -ENODEV);
        CHECK_STR(e.text, "MIG device MIG-3 is not on this node");
}

int main(void)
{
        return RUN(CASE(a_container_has_all_of_the_device_that_kubelet_chose),
                   CASE(who_holds_none_has_no_such_share), CASE(a_device_that_is_gone_is_an_error));
}
