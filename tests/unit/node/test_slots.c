/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of slots, and of which GPUs a list excludes. */
#include "slots.h"

#include <errno.h>

#include "gpu.h"
#include "unit.h"

static struct slots vgpus(unsigned count, unsigned healthy)
{
        struct slots slots = { 0 };

        CHECK_EQ(slots_add(&slots, "vgpu-", count, healthy, -1), 0);
        return slots;
}

TEST(a_list_names_every_slot_and_its_health)
{
        struct slots slots = vgpus(30, 20);
        V1beta1__ListAndWatchResponse *list = slots_list(&slots);

        CHECK(list);
        CHECK_EQ(list->n_devices, 30);
        CHECK_EQ(slots_count(&slots), 30);
        CHECK_EQ(slots_healthy(&slots), 20);
        CHECK_STR(list->devices[0]->id, "vgpu-0");
        CHECK_STR(list->devices[19]->health, "Healthy");
        CHECK_STR(list->devices[20]->health, "Unhealthy");
        CHECK_STR(list->devices[29]->id, "vgpu-29");
        CHECK(!list->devices[0]->topology);
        slots_list_free(list);
        slots_done(&slots);
}

TEST(groups_follow_each_other_and_a_group_of_one_is_its_name)
{
        struct slots slots = { 0 };
        V1beta1__ListAndWatchResponse *list;

        CHECK_EQ(slots_add(&slots, "GPU-a::", 2, 2, -1), 0);
        CHECK_EQ(slots_add(&slots, "GPU-b::", 2, 0, -1), 0);
        CHECK_EQ(slots_add(&slots, "MIG-c", 0, 1, 3), 0);
        list = slots_list(&slots);
        CHECK(list);
        CHECK_EQ(list->n_devices, 5);
        CHECK_STR(list->devices[1]->id, "GPU-a::1");
        CHECK_STR(list->devices[2]->id, "GPU-b::0");
        CHECK_STR(list->devices[2]->health, "Unhealthy");
        CHECK_STR(list->devices[4]->id, "MIG-c");
        CHECK_STR(list->devices[4]->health, "Healthy");
        CHECK_EQ(list->devices[4]->topology->nodes[0]->id, 3);
        CHECK(slots_has(&slots, "MIG-c"));
        CHECK(!slots_has(&slots, "MIG-c0"));
        CHECK(!slots_has(&slots, "MIG-"));
        CHECK(slots_has(&slots, "GPU-b::1"));
        CHECK(!slots_has(&slots, "GPU-b::2"));
        slots_list_free(list);
        slots_done(&slots);
}

TEST(a_copy_is_equal_until_one_changes)
{
        struct slots slots = vgpus(4, 4), copy;

        CHECK_EQ(slots_copy(&slots, &copy), 0);
        CHECK(slots_is_equal(&slots, &copy));
        copy.groups[0].healthy = 3;
        CHECK(!slots_is_equal(&slots, &copy));
        copy.groups[0].healthy = 4;
        CHECK_EQ(slots_add(&copy, "x", 1, 1, 0), 0);
        CHECK(!slots_is_equal(&slots, &copy));
        slots_done(&slots);
        slots_done(&copy);
}

TEST(only_our_own_ids_are_ours)
{
        struct slots slots = vgpus(30, 20);
        static const char *const strangers[] = { "vgpu-30",
                                                 "vgpu-",
                                                 "vgpu--1",
                                                 "vgpu-01",
                                                 "vgpu-1 ",
                                                 "vgpu-1x",
                                                 "GPU-1",
                                                 "",
                                                 "1",
                                                 "vgpu-+1",
                                                 "vgpu-99999999999999" };

        CHECK(slots_has(&slots, "vgpu-0"));
        CHECK(slots_has(&slots, "vgpu-29"));
        for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
                CHECK(!slots_has(&slots, strangers[i]));
        slots_done(&slots);
}

TEST(devices_are_excluded_by_index_range_or_uuid)
{
        static const struct {
                const char *list;
                int r;
        } rows[] = {
                { "2", 1 },        { "0", 0 },         { "0,1,2", 1 },     { "0..2", 1 },
                { "3..7", 0 },     { "GPU-abc", 1 },   { "GPU-ab", 0 },    { "0,GPU-abc", 1 },
                { "", -EINVAL },   { "x", -EINVAL },   { "2,", -EINVAL },  { "3..1", -EINVAL },
                { "-1", -EINVAL }, { "1..", -EINVAL }, { "2;3", -EINVAL },
        };
        const struct gpu gpu = { .index = 2, .uuid = "GPU-abc" };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct err e;

                CHECK_EQ(gpu_is_excluded(rows[i].list, &gpu, &e), rows[i].r);
        }
}

int main(void)
{
        return RUN(CASE(a_list_names_every_slot_and_its_health),
                   CASE(groups_follow_each_other_and_a_group_of_one_is_its_name),
                   CASE(a_copy_is_equal_until_one_changes), CASE(only_our_own_ids_are_ours),
                   CASE(devices_are_excluded_by_index_range_or_uuid));
}
