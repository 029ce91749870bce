/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which resources a node offers, and what there is of each. */
#include "offer_list.h"

#include <string.h>

#include "str.h"
#include "unit.h"

static const uint64_t gib = UINT64_C(1) << 30;

static struct node_options options_of(enum mig_strategy strategy)
{
        return (struct node_options){ .resources = { "nvidia.com/vgpu" },
                                      .split_count = 10,
                                      .mig_strategy = strategy,
                                      .offers_memory = true };
}

static void add_gpu(struct gpu_set *set, const char *uuid, bool is_mig, bool is_healthy)
{
        struct gpu *gpu = &set->gpus[set->count];

        gpu->index = set->count++;
        str_copy(gpu->uuid, sizeof gpu->uuid, uuid);
        gpu->memory_bytes = 40536ull << 20;
        gpu->is_mig = is_mig;
        gpu->is_healthy = is_healthy;
}

static void add_part(struct gpu_set *set, const char *uuid, const char *profile)
{
        struct mig_device *part = &set->parts[set->part_count++];

        str_copy(part->uuid, sizeof part->uuid, uuid);
        part->gpu = set->count - 1;
        CHECK(mig_profile_parse(profile, &part->profile));
}

static const struct offer *find(const struct vec *offers, const char *resource)
{
        for (size_t i = 0; i < offers->count; i++) {
                const struct offer *offer = vec_at(offers, i);

                if (strcmp(offer->resource, resource) == 0)
                        return offer;
        }
        return NULL;
}

static unsigned count_of(const struct vec *offers, const char *resource)
{
        const struct offer *offer = find(offers, resource);

        return offer ? slots_count(&offer->slots) : 0;
}

TEST(whole_gpus_are_vgpus_and_memory_belongs_to_its_gpu)
{
        const struct node_options options = options_of(MIG_STRATEGY_MIXED);
        struct gpu_set set = { 0 };
        const struct offer *memory;
        struct vec offers;

        add_gpu(&set, "GPU-a", false, true);
        add_gpu(&set, "GPU-b", false, false);
        CHECK_EQ(offer_list_make(&set, &options, &offers), 0);
        CHECK_EQ(offers.count, 2);
        CHECK_EQ(count_of(&offers, "nvidia.com/vgpu"), 20);
        CHECK_EQ(find(&offers, "nvidia.com/vgpu")->slots.groups[0].healthy, 10);
        memory = find(&offers, "gpu.das.com/mem");
        CHECK(memory);
        CHECK_EQ(memory->kind, OFFER_MEMORY);
        CHECK_EQ(slots_count(&memory->slots), 80);
        CHECK(slots_has(&memory->slots, "GPU-b::39"));
        CHECK_EQ(memory->slots.groups[0].healthy, 40);
        CHECK_EQ(memory->slots.groups[1].healthy, 0);
        offer_list_done(&offers);
}

TEST(parts_are_offered_by_their_profiles_under_both_names)
{
        const struct node_options options = options_of(MIG_STRATEGY_MIXED);
        struct gpu_set set = { 0 };
        struct vec offers;

        add_gpu(&set, "GPU-a", true, true);
        add_part(&set, "MIG-1", "1g.5gb");
        add_part(&set, "MIG-2", "1g.5gb");
        add_part(&set, "MIG-3", "1g.5gb+me");
        add_part(&set, "MIG-4", "3g.20gb");
        CHECK_EQ(offer_list_make(&set, &options, &offers), 0);
        CHECK_EQ(count_of(&offers, "nvidia.com/vgpu"), 0);
        CHECK(find(&offers, "nvidia.com/vgpu"));
        CHECK_EQ(count_of(&offers, "nvidia.com/mig-1g.5gb"), 2);
        CHECK_EQ(count_of(&offers, "mig.das.com/1g.5gb"), 2);
        CHECK_EQ(count_of(&offers, "nvidia.com/mig-1g.5gb.me"), 1);
        CHECK_EQ(count_of(&offers, "mig.das.com/1g.5gb-plus-me"), 1);
        CHECK_EQ(count_of(&offers, "nvidia.com/mig-3g.20gb"), 1);
        CHECK(slots_has(&find(&offers, "nvidia.com/mig-1g.5gb")->slots, "MIG-2"));
        CHECK_EQ(find(&offers, "nvidia.com/mig-3g.20gb")->kind, OFFER_MIG);
        CHECK_EQ(count_of(&offers, "gpu.das.com/mem"), 40);
        offer_list_done(&offers);
}

TEST(equal_parts_of_all_gpus_replace_vgpus_on_request)
{
        const struct node_options options = options_of(MIG_STRATEGY_SINGLE);
        struct gpu_set set = { 0 };
        struct vec offers;

        add_gpu(&set, "GPU-a", true, true);
        add_part(&set, "MIG-1", "1g.5gb");
        add_gpu(&set, "GPU-b", true, true);
        add_part(&set, "MIG-2", "1g.5gb");
        CHECK_EQ(offer_list_make(&set, &options, &offers), 0);
        CHECK_EQ(count_of(&offers, "nvidia.com/vgpu"), 2);
        CHECK_EQ(find(&offers, "nvidia.com/vgpu")->kind, OFFER_MIG);
        CHECK(!find(&offers, "nvidia.com/mig-1g.5gb"));
        offer_list_done(&offers);

        add_part(&set, "MIG-3", "2g.10gb");
        CHECK_EQ(offer_list_make(&set, &options, &offers), 0);
        CHECK_EQ(count_of(&offers, "nvidia.com/vgpu"), 0);
        offer_list_done(&offers);
}

TEST(what_is_not_wanted_is_not_offered)
{
        struct node_options options = options_of(MIG_STRATEGY_NONE);
        struct gpu_set set = { 0 };
        struct vec offers;

        options.offers_memory = false;
        add_gpu(&set, "GPU-a", true, true);
        add_part(&set, "MIG-1", "1g.5gb");
        add_gpu(&set, "GPU-b", false, true);
        CHECK_EQ(offer_list_make(&set, &options, &offers), 0);
        CHECK_EQ(offers.count, 1);
        CHECK_EQ(count_of(&offers, "nvidia.com/vgpu"), 10);
        offer_list_done(&offers);
}

/* What NVML says of the GPUs, and the GB in the name of the profile that is all of each. */
TEST(memory_rounds_as_the_names_of_profiles_do)
{
        static const struct {
                unsigned mib, gb;
        } rows[] = {
                { 40536, 40 },   /* 7g.40gb */
                { 81251, 80 },   /* A100, 7g.80gb */
                { 81559, 80 },   /* H100, 7g.80gb */
                { 143771, 141 }, /* 7g.141gb */
                { 24258, 24 },   /* 4g.24gb */
                { 4096, 4 },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                CHECK_EQ(offer_memory_gb((uint64_t)rows[i].mib << 20), rows[i].gb);
        CHECK_EQ(offer_memory_gb(0), 0);
        CHECK_EQ(offer_memory_gb(gib + 1), 2);
}

int main(void)
{
        return RUN(CASE(whole_gpus_are_vgpus_and_memory_belongs_to_its_gpu),
                   CASE(parts_are_offered_by_their_profiles_under_both_names),
                   CASE(equal_parts_of_all_gpus_replace_vgpus_on_request),
                   CASE(what_is_not_wanted_is_not_offered),
                   CASE(memory_rounds_as_the_names_of_profiles_do));
}
