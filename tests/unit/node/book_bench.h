/* SPDX-License-Identifier: Apache-2.0 */
/* A book of shares in a folder of the test's own, and shares in it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share_book.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)

struct book_bench {
        char folder[64];
        struct share_book *book;
};

static inline void book_bench_open(struct book_bench *bench)
{
        static int number;
        struct err e = { 0 };

        snprintf(bench->folder, sizeof bench->folder, "/dev/shm/vgpu-test-bench-%d-%d", getpid(),
                 ++number);
        if (share_book_open(bench->folder, "boot", &bench->book, &e) < 0)
                fail_msg("%s", e.text);
}

static inline void book_bench_close(struct book_bench *bench)
{
        char command[128];

        share_book_close(bench->book);
        snprintf(command, sizeof command, "rm -r '%s'", bench->folder);
        CHECK_EQ(system(command), 0);
}

/* A share of one GPU, "GPU-1", for the container of this pod. */
static inline struct held_share *book_bench_put(struct book_bench *bench, const char *uid,
                                                const char *container, uint64_t limit_mib,
                                                unsigned cores)
{
        const struct gpu_device gpu_device = { 4096 * MIB, 0 };
        struct share_copy copy = { .device_count = 1 };
        struct held_share *held = NULL;
        struct err e = { 0 };

        snprintf(copy.pod_uid, sizeof copy.pod_uid, "%s", uid);
        snprintf(copy.pod_namespace, sizeof copy.pod_namespace, "team");
        snprintf(copy.pod_name, sizeof copy.pod_name, "train");
        snprintf(copy.container, sizeof copy.container, "%s", container);
        snprintf(copy.devices[0].uuid, sizeof copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = copy.devices[0].physical_bytes = limit_mib * MIB;
        copy.devices[0].limit_max_bytes = limit_mib * MIB;
        copy.devices[0].cores_percent = cores;
        copy.devices[0].cores_ceiling_percent = cores;
        if (share_book_make(bench->book, &copy, &gpu_device, &held, &e) < 0)
                fail_msg("%s", e.text);
        return held;
}

static inline const struct share_device *book_bench_device(const struct held_share *held)
{
        return &share_current(&held->share)->devices[0];
}
