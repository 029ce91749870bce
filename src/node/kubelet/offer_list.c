/* SPDX-License-Identifier: Apache-2.0 */
/* From GPUs to resources. */
#include "offer_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "resource.h"
#include "str.h"

enum { NO_NUMA = -1 };

unsigned offer_memory_gb(uint64_t bytes)
{
        return (unsigned)((bytes + (UINT64_C(1) << 30) - 1) >> 30);
}

void offer_list_done(struct vec *offers)
{
        for (size_t i = 0; i < offers->count; i++)
                slots_done(&((struct offer *)vec_at(offers, i))->slots);
        vec_done(offers);
}

/* The offer of this name, made if there is none; NULL: out of memory. Valid until the next call. */
static struct offer *offer_of(struct vec *offers, const char *resource, enum offer_kind kind)
{
        struct offer offer = { .kind = kind };

        for (size_t i = 0; i < offers->count; i++)
                if (strcmp(((struct offer *)vec_at(offers, i))->resource, resource) == 0)
                        return vec_at(offers, i);
        str_copy(offer.resource, sizeof offer.resource, resource);
        return vec_push(offers, &offer) < 0 ? NULL : vec_at(offers, offers->count - 1);
}

static int add_part(struct vec *offers, const char *resource, const struct gpu_set *set,
                    const struct mig_device *part)
{
        const struct gpu *gpu = &set->gpus[part->gpu];
        struct offer *offer = offer_of(offers, resource, OFFER_MIG);

        return offer ? slots_add(&offer->slots, part->uuid, 0, gpu->is_healthy, gpu->numa)
                     : -ENOMEM;
}

static int add_profile(struct vec *offers, const struct gpu_set *set, const struct mig_device *part)
{
        const struct {
                const char *prefix;
                enum mig_spelling spelling;
        } rows[] = { { resource_mig_prefix(), MIG_SPELLING_DOT },
                     { "mig.das.com/", MIG_SPELLING_PLUS } };
        int r = 0;

        for (size_t i = 0; i < sizeof rows / sizeof *rows && r == 0; i++) {
                char profile[MIG_PROFILE_TEXT], resource[OFFER_NAME];

                mig_profile_format(&part->profile, rows[i].spelling, profile);
                snprintf(resource, sizeof resource, "%s%s", rows[i].prefix, profile);
                r = add_part(offers, resource, set, part);
        }
        return r;
}

/* All GPUs are partitioned into equal MIG devices: then these can be counted without naming a profile. */
static bool is_uniform(const struct gpu_set *set)
{
        for (unsigned i = 0; i < set->count; i++)
                if (!set->gpus[i].is_mig)
                        return false;
        for (unsigned i = 1; i < set->part_count; i++)
                if (!mig_profile_is_equal(&set->parts[i].profile, &set->parts[0].profile))
                        return false;
        return set->part_count > 0;
}

static int add_parts(struct vec *offers, const struct gpu_set *set, const char *resource)
{
        int r = 0;

        for (unsigned i = 0; i < set->part_count && r == 0; i++)
                r = add_part(offers, resource, set, &set->parts[i]);
        return r;
}

/* A GPU in MIG mode has no vGPUs: nobody could get one. */
static int add_vgpus(struct vec *offers, const struct gpu_set *set,
                     const struct node_options *options, const char *resource)
{
        struct offer *offer = offer_of(offers, resource, OFFER_VGPU);
        unsigned whole = 0, healthy = 0;

        if (!offer)
                return -ENOMEM;
        for (unsigned i = 0; i < set->count; i++) {
                whole += !set->gpus[i].is_mig;
                healthy += !set->gpus[i].is_mig && set->gpus[i].is_healthy;
        }
        return whole ? slots_add(&offer->slots, "vgpu-", whole * options->split_count,
                                 healthy * options->split_count, NO_NUMA)
                     : 0;
}

static int add_memory(struct vec *offers, const struct gpu_set *set)
{
        const char *resource = resource_name(RESOURCE_SLICED, RESOURCE_MEMORY_UNITS);
        struct offer *offer = offer_of(offers, resource, OFFER_MEMORY);
        int r = offer ? 0 : -ENOMEM;

        for (unsigned i = 0; i < set->count && r == 0; i++) {
                const struct gpu *gpu = &set->gpus[i];
                const unsigned gb = offer_memory_gb(gpu->memory_bytes);
                char name[sizeof gpu->uuid + 8];

                snprintf(name, sizeof name, "%s::", gpu->uuid);
                if (gb)
                        r = slots_add(&offer->slots, name, gb, gpu->is_healthy ? gb : 0, NO_NUMA);
        }
        return r;
}

static int fill(struct vec *offers, const struct gpu_set *set, const struct node_options *options)
{
        const bool is_single = options->mig_strategy == MIG_STRATEGY_SINGLE && is_uniform(set);
        int r = 0;

        for (unsigned i = 0; options->resources[i] && r == 0; i++)
                r = is_single ? add_parts(offers, set, options->resources[i])
                              : add_vgpus(offers, set, options, options->resources[i]);
        for (unsigned i = 0; i < set->part_count && r == 0; i++)
                if (options->mig_strategy == MIG_STRATEGY_MIXED)
                        r = add_profile(offers, set, &set->parts[i]);
        if (r == 0 && options->offers_memory)
                r = add_memory(offers, set);
        return r;
}

int offer_list_make(const struct gpu_set *set, const struct node_options *options,
                    struct vec *ret_offers)
{
        struct vec offers = VEC_OF(struct offer);
        int r = fill(&offers, set, options);

        if (r < 0)
                offer_list_done(&offers);
        else
                *ret_offers = offers;
        return r;
}

void offer_list_withhold(struct vec *offers, const struct mig_claims *claims)
{
        for (size_t i = 0; i < offers->count; i++) {
                struct offer *offer = vec_at(offers, i);

                for (unsigned j = 0; offer->kind == OFFER_MIG && j < offer->slots.group_count;
                     j++) {
                        struct slot_group *group = &offer->slots.groups[j];
                        const char *holder = mig_claims_holder(claims, group->name);

                        if (holder && strcmp(holder, offer->resource) != 0)
                                group->healthy = 0;
                }
        }
}
