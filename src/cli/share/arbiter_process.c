/* SPDX-License-Identifier: Apache-2.0 */
/* The arbiter as a process; see arbiter_process.h. */
#include "arbiter_process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arbiter.h"
#include "arbiter_lock.h"
#include "clock.h"
#include "futex.h"
#include "gpu_page.h"
#include "run_folder.h"
#include "vec.h"

struct candidate {
        char root[SHARE_TEXT];
        struct arbiter_lock lock;
        struct gpu_want_file *wants; /* of the share that it stands for */
};

void arbiter_process_lock_path(const char *root, char ret_path[SHARE_TEXT])
{
        snprintf(ret_path, SHARE_TEXT, "%.200s/" ARBITER_LOCK_NAME, root);
}

static int candidate_lock_open(const char *share_path, struct candidate *candidate)
{
        char path[SHARE_TEXT];

        run_folder_root(share_path, candidate->root);
        arbiter_process_lock_path(candidate->root, path);
        return arbiter_lock_open(path, &candidate->lock, NULL);
}

void arbiter_process_ring(const char *share_path)
{
        struct candidate candidate;

        if (candidate_lock_open(share_path, &candidate) < 0)
                return;
        arbiter_lock_ring(&candidate.lock);
        arbiter_lock_close(&candidate.lock);
}

/* A tenant of ours that nobody answers rings the alarm. */
static void *alarm_run(void *argument)
{
        struct candidate *candidate = argument;

        for (;;) {
                const uint32_t seen = atomic_load(&candidate->wants->alarm);

                futex_wait(&candidate->wants->alarm, seen, 3600 * NS_PER_S);
                if (atomic_load(&candidate->wants->alarm) != seen)
                        arbiter_lock_free_if_stuck(&candidate->lock);
        }
        return NULL;
}

static int candidate_open(const char *share_path, struct candidate *candidate)
{
        char path[SHARE_TEXT];
        pthread_t thread;

        if (candidate_lock_open(share_path, candidate) < 0)
                return -1;
        gpu_page_want_path(share_path, path); /* all lie in one folder */
        if (gpu_want_map(path, &candidate->wants, NULL) < 0)
                return -1;
        return pthread_create(&thread, NULL, alarm_run, candidate) ? -1 : 0;
}

static bool is_gone(const char *share_path, void *user)
{
        (void)user;
        return access(share_path, F_OK) < 0;
}

static void members_read(const struct candidate *candidate, struct arbiter *arbiter)
{
        struct vec paths = VEC_OF(char[SHARE_TEXT]);

        run_folder_read(candidate->root, &paths);
        arbiter_sweep(arbiter, is_gone, NULL);
        for (size_t i = 0; i < paths.count; i++)
                arbiter_add(arbiter, vec_at(&paths, i), NULL);
        vec_done(&paths);
}

/* Until the machine's agent wants to. */
static void arbitrate(struct candidate *candidate)
{
        struct arbiter_lock_file *const lock = candidate->lock.file;
        struct arbiter *arbiter = arbiter_new(&lock->members);
        uint32_t members = atomic_load(&lock->members) - 1;

        if (!arbiter)
                _exit(1);
        prctl(PR_SET_NAME, "vgpu-arbiter");
        while (!arbiter_lock_is_claimed(&candidate->lock)) {
                const uint32_t members_now = atomic_load(&lock->members);

                if (members_now != members) {
                        arbiter_set_off(arbiter, arbiter_finds_mps());
                        members_read(candidate, arbiter);
                        members = members_now;
                }
                const uint64_t until_ns = arbiter_step(arbiter);
                atomic_fetch_add(&lock->steps, 1);
                arbiter_wait(arbiter, until_ns, members);
        }
        arbiter_free(arbiter);
        prctl(PR_SET_NAME, "vgpu-candidate");
}

void arbiter_process_run(const char *share_path)
{
        struct candidate candidate = { 0 };

        prctl(PR_SET_NAME, "vgpu-candidate");
        if (candidate_open(share_path, &candidate) < 0)
                _exit(1);
        for (;;) {
                if (arbiter_lock_take(&candidate.lock) < 0)
                        _exit(1);
                arbitrate(&candidate);
                arbiter_lock_release(&candidate.lock);
                arbiter_lock_wait_unclaimed(&candidate.lock);
        }
}
