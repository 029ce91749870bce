/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the rules by which a GPU is cut into instances. */
#include "mig.h"

#include <stdio.h>
#include <string.h>

#include "preset.h"
#include "unit.h"

static struct machine_gpu gpu_of(const char *preset)
{
        struct machine_gpu gpu = preset_find(preset)->gpu;

        gpu.mig_mode = 1;
        return gpu;
}

static const struct mig_profile *profile_named(const struct machine_gpu *gpu, const char *name)
{
        const struct mig_model *model = mig_model(gpu);

        for (size_t i = 0; i < model->profile_count; i++)
                if (strcmp(model->profiles[i].name, name) == 0)
                        return &model->profiles[i];
        fail_msg("no profile %s", name);
        return NULL;
}

/* Puts an instance there without asking. */
static void put(struct machine_gpu *gpu, const struct mig_profile *profile, unsigned start)
{
        for (unsigned i = 0; i < 7; i++) {
                if (gpu->instances[i].is_used)
                        continue;
                gpu->instances[i] = (struct machine_gpu_instance){
                        .is_used = 1,
                        .profile = profile->id,
                        .start = start,
                        .size = profile->size,
                        .slices = profile->slices,
                };
                return;
        }
        fail_msg("an eighth instance");
}

/* "4g.20gb@0 3g.20gb@4": true when each finds its start free. */
static bool fits(const char *preset, const char *cut)
{
        struct machine_gpu gpu = gpu_of(preset);
        char text[256], *remainder = text;

        snprintf(text, sizeof text, "%s", cut);
        for (char *name; (name = strsep(&remainder, " ")) != NULL;) {
                char *at = strchr(name, '@');
                unsigned start = (unsigned)(at[1] - '0');
                *at = '\0';
                const struct mig_profile *profile = profile_named(&gpu, name);
                if (!(mig_free_starts(&gpu, profile) >> start & 1))
                        return false;
                put(&gpu, profile, start);
        }
        return true;
}

TEST(what_the_hardware_permits_fits)
{
        static const char *const cuts[] = {
                "7g.40gb@0",
                "4g.20gb@0 3g.20gb@4",
                "4g.20gb@0 2g.10gb@4 1g.5gb@6",
                "4g.20gb@0 1g.5gb@4 1g.5gb@5 1g.5gb@6",
                "4g.20gb@0 1g.10gb@4 1g.10gb@6",
                "3g.20gb@0 3g.20gb@4",
                "3g.20gb@0 2g.10gb@4 1g.5gb@6",
                "3g.20gb@4 2g.10gb@0 1g.5gb@2 1g.5gb@3",
                "3g.20gb@4 2g.10gb@2 2g.10gb@0",
                "2g.10gb@0 2g.10gb@2 2g.10gb@4 1g.5gb@6",
                "2g.10gb@4 1g.5gb+me@6 2g.10gb@0 1g.5gb@2 1g.5gb@3",
                "1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6",
                "1g.5gb+me@3 1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@4 1g.5gb@5 1g.5gb@6",
                "1g.10gb@0 1g.10gb@2 1g.10gb@4 1g.10gb@6",
                "1g.10gb@6 1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5",
        };

        for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
                if (!fits("a100-40gb", cuts[i]))
                        fail_msg("%s", cuts[i]);
        CHECK(fits("h100-80gb", "4g.40gb@0 3g.40gb@4"));
        CHECK(fits("h200-141gb", "1g.35gb@0 2g.35gb@2 3g.71gb@4"));
        CHECK(fits("a30-24gb", "2g.12gb@0 1g.6gb@2 1g.6gb+me@3"));
        CHECK(fits("a30-24gb", "2g.12gb+me@0 2g.12gb@2"));
}

TEST(what_the_hardware_forbids_does_not)
{
        static const char *const cuts[] = {
                "7g.40gb@0 1g.5gb@6",
                "4g.20gb@4",
                "4g.20gb@0 4g.20gb@0",
                "3g.20gb@0 4g.20gb@0",
                "3g.20gb@2",
                "2g.10gb@6",
                "2g.10gb@1",
                "1g.5gb@7",
                "1g.10gb@1",
                "3g.20gb@4 1g.5gb@6",
                "1g.5gb+me@0 1g.5gb+me@1",
                "1g.10gb@6 1g.5gb@6",
                "1g.5gb@0 2g.10gb@0",
        };

        for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
                if (fits("a100-40gb", cuts[i]))
                        fail_msg("%s", cuts[i]);
        CHECK(!fits("a30-24gb", "4g.24gb@0 1g.6gb@3"));
        CHECK(!fits("a30-24gb", "2g.12gb@1"));
}

/* Every way to go on from here; a full GPU must never hold more than it has. */
static unsigned cut_all_ways(struct machine_gpu *gpu, unsigned from)
{
        const struct mig_model *model = mig_model(gpu);
        unsigned slices = 0, memory_mib = 0, sm_count = 0, count = 1;

        for (unsigned i = 0; i < 7; i++) {
                const struct mig_profile *profile;
                if (!gpu->instances[i].is_used)
                        continue;
                profile = mig_profile_of_id(model, gpu->instances[i].profile);
                slices += profile->slices;
                memory_mib += profile->memory_mib;
                sm_count += profile->sm_count;
        }
        CHECK(slices <= model->slices);
        CHECK(sm_count <= gpu->sm_count);
        CHECK(memory_mib <= gpu->memory_bytes >> 20);

        /* Starts in rising order, so that each set of instances is met once. */
        for (unsigned start = from; start < 8; start++)
                for (size_t p = 0; p < model->profile_count; p++) {
                        struct machine_gpu next = *gpu;
                        if (!(mig_free_starts(gpu, &model->profiles[p]) >> start & 1))
                                continue;
                        CHECK(mig_remaining(gpu, &model->profiles[p]) > 0);
                        put(&next, &model->profiles[p], start);
                        count += cut_all_ways(&next, start + 1);
                }
        return count;
}

TEST(no_order_of_cuts_gives_more_than_the_gpu_has)
{
        static const char *const presets[] = { "a100-40gb", "a100-80gb", "h100-80gb", "h200-141gb",
                                               "a30-24gb" };

        for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
                struct machine_gpu gpu = gpu_of(presets[i]);
                CHECK(cut_all_ways(&gpu, 0) > 50);
        }
}

TEST(what_remains_shrinks_as_slices_go)
{
        struct machine_gpu gpu = gpu_of("a100-40gb");
        const struct mig_profile *one = profile_named(&gpu, "1g.5gb");
        const struct mig_profile *two = profile_named(&gpu, "2g.10gb");
        const struct mig_profile *seven = profile_named(&gpu, "7g.40gb");

        CHECK_EQ(mig_remaining(&gpu, one), 7);
        CHECK_EQ(mig_remaining(&gpu, two), 3);
        CHECK_EQ(mig_remaining(&gpu, seven), 1);
        put(&gpu, two, 4);
        CHECK_EQ(mig_remaining(&gpu, one), 5);
        CHECK_EQ(mig_remaining(&gpu, two), 2);
        CHECK_EQ(mig_remaining(&gpu, seven), 0);
}

TEST(a_smaller_gpu_has_smaller_instances)
{
        struct machine_gpu gpu = gpu_of("a100-40gb");
        const struct mig_profile *half = profile_named(&gpu, "3g.20gb");

        CHECK_EQ(mig_memory_bytes(&gpu, half), UINT64_C(19968) << 20);
        gpu.memory_bytes /= 10;
        CHECK(mig_memory_bytes(&gpu, half) <= gpu.memory_bytes / 2);
        CHECK(mig_memory_bytes(&gpu, half) >= gpu.memory_bytes * 2 / 5);
        CHECK_EQ(mig_memory_bytes(&gpu, half) % MACHINE_GRANULE_BYTES, 0);
}

TEST(compute_profiles_follow_the_instance)
{
        struct machine_gpu gpu = gpu_of("a100-40gb");
        struct mig_compute_profile profile;

        CHECK(mig_compute_profile(profile_named(&gpu, "7g.40gb"), 4, &profile));
        CHECK_EQ(profile.sm_count, 98);
        CHECK_EQ(profile.max_count, 1);
        CHECK(mig_compute_profile(profile_named(&gpu, "7g.40gb"), 0, &profile));
        CHECK_EQ(profile.sm_count, 14);
        CHECK_EQ(profile.max_count, 7);
        CHECK(mig_compute_profile(profile_named(&gpu, "4g.20gb"), 1, &profile));
        CHECK_EQ(profile.max_count, 2);
        CHECK(!mig_compute_profile(profile_named(&gpu, "4g.20gb"), 2, &profile));
        CHECK(!mig_compute_profile(profile_named(&gpu, "1g.5gb"), 1, &profile));
        CHECK(!mig_compute_profile(profile_named(&gpu, "1g.5gb"), 9, &profile));
}

TEST(only_gpus_with_mig_can_be_cut)
{
        struct machine_gpu gpu = preset_find("t4-16gb")->gpu;

        CHECK(mig_model(&gpu) == NULL);
        for (size_t i = 0; i < preset_count(); i++)
                CHECK_EQ(mig_model(&preset_at(i)->gpu) != NULL, preset_at(i)->gpu.has_mig);
}

int main(void)
{
        return RUN(CASE(what_the_hardware_permits_fits), CASE(what_the_hardware_forbids_does_not),
                   CASE(no_order_of_cuts_gives_more_than_the_gpu_has),
                   CASE(what_remains_shrinks_as_slices_go),
                   CASE(a_smaller_gpu_has_smaller_instances),
                   CASE(compute_profiles_follow_the_instance), CASE(only_gpus_with_mig_can_be_cut));
}
