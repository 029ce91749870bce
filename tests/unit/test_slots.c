/* Tests of slots, and of which GPUs a list excludes. */
#include "slots.h"

#include <errno.h>

#include "gpu.h"
#include "unit.h"

TEST(a_list_names_every_slot_and_its_health)
{
        const struct slots slots = { .count = 30, .healthy = 20 };
        V1beta1__ListAndWatchResponse *list = slots_list(&slots);

        CHECK(list);
        CHECK_EQ(list->n_devices, 30);
        CHECK_STR(list->devices[0]->id, "vgpu-0");
        CHECK_STR(list->devices[19]->health, "Healthy");
        CHECK_STR(list->devices[20]->health, "Unhealthy");
        CHECK_STR(list->devices[29]->id, "vgpu-29");
        slots_list_free(list);
}

TEST(only_our_own_ids_are_ours)
{
        const struct slots slots = { .count = 30, .healthy = 20 };
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
        return RUN(CASE(a_list_names_every_slot_and_its_health), CASE(only_our_own_ids_are_ours),
                   CASE(devices_are_excluded_by_index_range_or_uuid));
}
