/* SPDX-License-Identifier: Apache-2.0 */
/* arbiter_bench: an arbiter and tenants in one process, for the tests of the arbiter. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "arbiter.h"
#include "gpu_timeslice.h"
#include "share.h"

enum { TENANTS = 2, MANY = 300 };

struct bench {
        int count;
        char folders[MANY][64];
        struct gpu_timeslice timeslices[MANY];
        struct arbiter *arbiter;
        _Atomic uint32_t members; /* changes: the thread ends */
        pthread_t thread;
};

void path_in(const struct bench *bench, int tenant, const char *name, char ret_path[128]);

/* The next one: its files, in a folder of its own, and the arbiter knows them. */
void tenant_make(struct bench *bench, int tenant);

/* Of a thread, with a struct bench: arbitrates until `members` changes. */
void *arbitrate(void *argument);

/* Tenants, and an arbiter in a thread of its own. */
void bench_open_with(struct bench *bench, int count);
void bench_open(struct bench *bench);
void bench_close(struct bench *bench);

/* For a bench without a thread. */
void bench_remove(struct bench *bench);

/* They ask, one after the other has ended; none of them goes on for want of an answer. */
void timeslices_take(struct bench *bench, int first, int beyond);

void limits_set(struct share *share, unsigned percent, uint32_t weight);
void cores_set(struct share *share, unsigned percent);

/* Makes a user the owner of a tenant's folder; the arbiter takes the tenant in anew. */
void folder_give(struct bench *bench, int tenant, uid_t user);
