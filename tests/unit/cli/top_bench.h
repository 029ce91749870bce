/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of `vgpu top` share: snapshots made by hand, and looked at one after the other. */
#pragma once

#include <stdio.h>

#include "clock.h"
#include "str.h"
#include "top_rows.h"
#include "unit.h"

struct bench {
        struct top top;
        struct snapshot snapshot;
};

static inline void bench_open(struct bench *bench)
{
        *bench = (struct bench){ .snapshot = { .gpus = VEC_OF(struct gpu_view),
                                               .shares = VEC_OF(struct share_view),
                                               .strangers = VEC_OF(struct stranger),
                                               .troubles = VEC_OF(char[SNAPSHOT_TEXT]),
                                               .monotonic_ns = NS_PER_S } };
        top_init(&bench->top);
}

static inline void bench_close(struct bench *bench)
{
        for (size_t i = 0; i < bench->snapshot.shares.count; i++) {
                struct share_view *share = vec_at(&bench->snapshot.shares, i);

                vec_done(&share->gpus);
                vec_done(&share->processes);
        }
        vec_done(&bench->snapshot.shares);
        vec_done(&bench->snapshot.gpus);
        vec_done(&bench->snapshot.strangers);
        vec_done(&bench->snapshot.troubles);
        top_done(&bench->top);
}

static inline struct gpu_view *bench_gpu(struct bench *bench, unsigned index, const char *uuid,
                                         const char *name)
{
        struct gpu_view gpu = { .index = index,
                                .total_bytes = UINT64_C(40) << 30,
                                .is_told = true,
                                .is_busy_told = true,
                                .is_healthy = true };

        str_copy(gpu.uuid, sizeof gpu.uuid, uuid);
        str_copy(gpu.name, sizeof gpu.name, name);
        CHECK_EQ(vec_push(&bench->snapshot.gpus, &gpu), 0);
        return vec_at(&bench->snapshot.gpus, bench->snapshot.gpus.count - 1);
}

static inline struct share_gpu *bench_share_at(struct bench *bench, size_t index)
{
        const struct share_view *share = vec_at(&bench->snapshot.shares, index);

        return vec_at(&share->gpus, 0);
}

/* A share with one process on one GPU; its figures are 0, its memory is not limited. */
static inline struct share_gpu *bench_share(struct bench *bench, const char *name, const char *uuid)
{
        struct share_view share = { .gpus = VEC_OF(struct share_gpu),
                                    .processes = VEC_OF(struct share_process) };
        struct share_gpu gpu = { .limit_bytes = SHARE_UNLIMITED, .is_used_known = true };

        str_copy(share.name, sizeof share.name, name);
        str_copy(gpu.uuid, sizeof gpu.uuid, uuid);
        CHECK_EQ(vec_push(&share.gpus, &gpu), 0);
        CHECK_EQ(vec_push(&bench->snapshot.shares, &share), 0);
        return bench_share_at(bench, bench->snapshot.shares.count - 1);
}

static inline void bench_process(struct bench *bench, size_t share, pid_t pid, const char *program)
{
        struct share_process process = { .pid = pid, .gpus = VEC_OF(struct process_gpu) };

        str_copy(process.program, sizeof process.program, program);
        CHECK_EQ(vec_push(&((struct share_view *)vec_at(&bench->snapshot.shares, share))->processes,
                          &process),
                 0);
}

static inline void bench_stranger(struct bench *bench, const char *user, pid_t pid,
                                  const char *uuid)
{
        struct stranger stranger = { .pid = pid, .used_bytes = UINT64_C(1) << 30 };

        str_copy(stranger.user, sizeof stranger.user, user);
        str_copy(stranger.uuid, sizeof stranger.uuid, uuid);
        str_copy(stranger.program, sizeof stranger.program, "python3 train.py");
        CHECK_EQ(vec_push(&bench->snapshot.strangers, &stranger), 0);
}

static inline void bench_sample(struct bench *bench, uint64_t passed_ns)
{
        bench->snapshot.monotonic_ns += passed_ns;
        top_sample(&bench->top, &bench->snapshot);
}
