/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs' time of the last second, share by share: what drivers tell of processes, and regions of shares. */
#include "snapshot_usage.h"

#include <string.h>

#include "gpu_usage.h"

enum { PARTS_MOST = 256 }; /* shares of one GPU; beyond that, the regions' figures stand */

/* The shares of one GPU. */
struct split {
        const struct gpu_view *gpu;
        struct share_gpu *shares[PARTS_MOST];
        const struct share_view *owners[PARTS_MOST];
        struct gpu_usage_part parts[PARTS_MOST];
        size_t count;
};

static void shares_collect(const struct snapshot *snapshot, struct split *split)
{
        for (size_t i = 0; i < snapshot->shares.count; i++) {
                const struct share_view *share = vec_at(&snapshot->shares, i);

                for (size_t j = 0; j < share->gpus.count && split->count < PARTS_MOST; j++) {
                        struct share_gpu *gpu = vec_at(&share->gpus, j);

                        if (strcmp(gpu->uuid, split->gpu->uuid) != 0)
                                continue;
                        split->shares[split->count] = gpu;
                        split->owners[split->count] = share;
                        /* vgpu-node has taken from its figure what was lost. */
                        split->parts[split->count++] = (struct gpu_usage_part){
                                .own = gpu->cores_used_percent + gpu->cores_lost_percent,
                                .is_unlimited = !share_gpu_cap_percent(gpu),
                                .has_ended = gpu->has_ended,
                        };
                }
        }
}

static bool has_process(const struct share_view *share, const struct gpu_process *known)
{
        for (size_t i = 0; i < share->processes.count; i++)
                if (share_process_is(vec_at(&share->processes, i), known))
                        return true;
        return false;
}

/* Of two shares with the same pid in two containers, the first: it is counted once. */
static void process_count(const struct gpu_process *known, struct split *split,
                          struct gpu_usage *usage)
{
        for (size_t i = 0; i < split->count; i++) {
                if (!has_process(split->owners[i], known))
                        continue;
                split->parts[i].told += known->busy_percent;
                split->parts[i].rounded += split->gpu->is_split_rounded && known->busy_percent > 0;
                return;
        }
        usage->outside += known->busy_percent;
        usage->rounded += split->gpu->is_split_rounded && known->busy_percent > 0;
}

/* Where this driver does not tell, vgpu-node's may have. */
static void share_put(struct share_gpu *gpu, const struct gpu_usage *usage,
                      const struct gpu_usage_part *part)
{
        if (!usage->is_told && gpu->is_lost_known)
                return;
        gpu->cores_used_percent = part->used;
        gpu->cores_lost_percent = part->lost;
        gpu->is_lost_known = usage->is_told;
        gpu->is_used_known = gpu_usage_is_known(usage, part);
}

static void gpu_split(const struct snapshot *snapshot, const struct vec *processes,
                      struct gpu_view *gpu)
{
        struct split split = { .gpu = gpu };
        struct gpu_usage usage = { .busy = gpu->busy_percent,
                                   .is_busy_told = gpu->is_busy_second,
                                   .is_told = gpu->is_split_told };

        shares_collect(snapshot, &split);
        for (size_t i = 0; gpu->is_split_told && i < processes->count; i++) {
                const struct gpu_process *known = vec_at(processes, i);

                if (strcmp(known->uuid, gpu->uuid) == 0)
                        process_count(known, &split, &usage);
        }
        gpu_usage_split(&usage, split.parts, split.count);
        gpu->outside_percent = usage.outside;
        for (size_t i = 0; i < split.count; i++)
                share_put(split.shares[i], &usage, &split.parts[i]);
}

void snapshot_usage_split(struct snapshot *snapshot, const struct vec *processes)
{
        for (size_t i = 0; i < snapshot->gpus.count; i++)
                gpu_split(snapshot, processes, vec_at(&snapshot->gpus, i));
}
