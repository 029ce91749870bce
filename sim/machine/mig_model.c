/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU instances that each model of GPU can be divided into: figures of real hardware. */
#include <string.h>

#include "mig.h"

/* Kinds, as NVML numbers them: 1g, 2g, 3g, 4g, 7g; 1g+me, 2g+me; 1g with twice the memory. */
enum { ONE, TWO, THREE, FOUR, SEVEN, ONE_MEDIA = 7, TWO_MEDIA = 8, ONE_DOUBLE = 9 };

static const struct mig_profile a100_40gb[] = {
        /* name, kind, id, slices, size, starts, count, SM, copy, dec, enc, jpeg, ofa, MiB */
        { "1g.5gb", ONE, 19, 1, 1, 0x7f, 7, 14, 1, 0, 0, 0, 0, 4864 },
        { "1g.5gb+me", ONE_MEDIA, 20, 1, 1, 0x7f, 1, 14, 1, 1, 0, 1, 1, 4864 },
        { "1g.10gb", ONE_DOUBLE, 15, 1, 2, 0x55, 4, 14, 1, 1, 0, 0, 0, 9856 },
        { "2g.10gb", TWO, 14, 2, 2, 0x15, 3, 28, 2, 1, 0, 0, 0, 9856 },
        { "3g.20gb", THREE, 9, 3, 4, 0x11, 2, 42, 3, 2, 0, 0, 0, 19968 },
        { "4g.20gb", FOUR, 5, 4, 4, 0x01, 1, 56, 4, 2, 0, 0, 0, 19968 },
        { "7g.40gb", SEVEN, 0, 7, 8, 0x01, 1, 98, 7, 5, 0, 1, 1, 40192 },
};

static const struct mig_profile a100_80gb[] = {
        { "1g.10gb", ONE, 19, 1, 1, 0x7f, 7, 14, 1, 0, 0, 0, 0, 9728 },
        { "1g.10gb+me", ONE_MEDIA, 20, 1, 1, 0x7f, 1, 14, 1, 1, 0, 1, 1, 9728 },
        { "1g.20gb", ONE_DOUBLE, 15, 1, 2, 0x55, 4, 14, 1, 1, 0, 0, 0, 19968 },
        { "2g.20gb", TWO, 14, 2, 2, 0x15, 3, 28, 2, 1, 0, 0, 0, 19968 },
        { "3g.40gb", THREE, 9, 3, 4, 0x11, 2, 42, 3, 2, 0, 0, 0, 40192 },
        { "4g.40gb", FOUR, 5, 4, 4, 0x01, 1, 56, 4, 2, 0, 0, 0, 40192 },
        { "7g.80gb", SEVEN, 0, 7, 8, 0x01, 1, 98, 7, 5, 0, 1, 1, 80896 },
};

static const struct mig_profile h100_80gb[] = {
        { "1g.10gb", ONE, 19, 1, 1, 0x7f, 7, 16, 1, 1, 0, 1, 0, 9984 },
        { "1g.10gb+me", ONE_MEDIA, 20, 1, 1, 0x7f, 1, 16, 1, 1, 0, 1, 1, 9984 },
        { "1g.20gb", ONE_DOUBLE, 15, 1, 2, 0x55, 4, 26, 1, 1, 0, 1, 0, 20096 },
        { "2g.20gb", TWO, 14, 2, 2, 0x15, 3, 32, 2, 2, 0, 2, 0, 20096 },
        { "3g.40gb", THREE, 9, 3, 4, 0x11, 2, 60, 3, 3, 0, 3, 0, 40448 },
        { "4g.40gb", FOUR, 5, 4, 4, 0x01, 1, 64, 4, 4, 0, 4, 0, 40448 },
        { "7g.80gb", SEVEN, 0, 7, 8, 0x01, 1, 132, 8, 7, 0, 7, 1, 81090 },
};

static const struct mig_profile h200_141gb[] = {
        { "1g.18gb", ONE, 19, 1, 1, 0x7f, 7, 16, 1, 1, 0, 1, 0, 16384 },
        { "1g.18gb+me", ONE_MEDIA, 20, 1, 1, 0x7f, 1, 16, 1, 1, 0, 1, 1, 16384 },
        { "1g.35gb", ONE_DOUBLE, 15, 1, 2, 0x55, 4, 26, 1, 1, 0, 1, 0, 33280 },
        { "2g.35gb", TWO, 14, 2, 2, 0x15, 3, 32, 2, 2, 0, 2, 0, 33280 },
        { "3g.71gb", THREE, 9, 3, 4, 0x11, 2, 60, 3, 3, 0, 3, 0, 71168 },
        { "4g.71gb", FOUR, 5, 4, 4, 0x01, 1, 64, 4, 4, 0, 4, 0, 71168 },
        { "7g.141gb", SEVEN, 0, 7, 8, 0x01, 1, 132, 8, 7, 0, 7, 1, 143155 },
};

static const struct mig_profile a30_24gb[] = {
        { "1g.6gb", ONE, 14, 1, 1, 0x0f, 4, 14, 1, 0, 0, 0, 0, 5952 },
        { "1g.6gb+me", ONE_MEDIA, 21, 1, 1, 0x0f, 1, 14, 1, 1, 0, 1, 1, 5952 },
        { "2g.12gb", TWO, 5, 2, 2, 0x05, 2, 28, 2, 2, 0, 0, 0, 11968 },
        { "2g.12gb+me", TWO_MEDIA, 6, 2, 2, 0x05, 1, 28, 2, 2, 0, 1, 1, 11968 },
        { "4g.24gb", FOUR, 0, 4, 4, 0x01, 1, 56, 4, 4, 0, 1, 1, 24000 },
};

#define ROWS(table) table, sizeof table / sizeof table[0]

static const struct mig_model models[] = {
        { "a100-40gb", 7, 8, ROWS(a100_40gb) }, { "a100-80gb", 7, 8, ROWS(a100_80gb) },
        { "h100-80gb", 7, 8, ROWS(h100_80gb) }, { "h200-141gb", 7, 8, ROWS(h200_141gb) },
        { "a30-24gb", 4, 4, ROWS(a30_24gb) },
};

const struct mig_model *mig_model(const struct machine_gpu *gpu)
{
        for (size_t i = 0; gpu->has_mig && i < sizeof models / sizeof models[0]; i++)
                if (strcmp(models[i].preset, gpu->preset) == 0)
                        return &models[i];
        return NULL;
}

const struct mig_profile *mig_profile_of_kind(const struct mig_model *model, unsigned kind)
{
        for (size_t i = 0; i < model->profile_count; i++)
                if (model->profiles[i].kind == kind)
                        return &model->profiles[i];
        return NULL;
}

const struct mig_profile *mig_profile_of_id(const struct mig_model *model, unsigned id)
{
        for (size_t i = 0; i < model->profile_count; i++)
                if (model->profiles[i].id == id)
                        return &model->profiles[i];
        return NULL;
}

bool mig_compute_profile(const struct mig_profile *profile, unsigned id,
                         struct mig_compute_profile *ret_profile)
{
        static const struct {
                uint8_t slices, starts;
        } kinds[] = {
                { 1, 0x7f }, { 2, 0x15 }, { 3, 0x11 }, { 4, 0x01 }, { 7, 0x01 },
        };

        if (id >= sizeof kinds / sizeof kinds[0])
                return false;

        unsigned slices = kinds[id].slices, starts = 0, count = 0, end = 0;
        /* A 4g instance divides into halves and quarters, not into 3 + 1. */
        if (slices > profile->slices || (slices == 3 && profile->slices == 4))
                return false;
        for (unsigned k = 0; k + slices <= profile->slices; k++) {
                if (!(kinds[id].starts >> k & 1))
                        continue;
                starts |= 1u << k;
                if (k >= end) {
                        count++;
                        end = k + slices;
                }
        }
        *ret_profile = (struct mig_compute_profile){
                .id = id,
                .slices = slices,
                .sm_count = slices == profile->slices
                                    ? profile->sm_count
                                    : profile->sm_count / profile->slices * slices,
                .max_count = count,
                .starts = starts,
        };
        return true;
}
