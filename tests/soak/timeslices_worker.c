/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant of the soak of time slices: it begins and ends them as libvgpu.so does, and its work is to sleep. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"
#include "gpu_timeslice.h"
#include "share.h"
#include "timeslices_board.h"

#define PIECE_NS   (200 * NS_PER_US)
#define STRETCH_NS (5 * NS_PER_MS)
#define LONG_NS    (60 * NS_PER_MS)

static int timeslice_open_own(struct gpu_timeslice *timeslice)
{
        const char *path = getenv("VGPU_SHARE");
        char grant[SHARE_TEXT], want[SHARE_TEXT];
        struct share share;

        if (!path || share_open(path, false, &share, NULL) < 0)
                return -1;
        gpu_page_grant_path(path, grant);
        gpu_page_want_path(share_current(&share)->region, want);
        share_close(&share);
        return gpu_timeslice_open(grant, want, 0, timeslice, NULL);
}

/* The arbiter gives up on whoever does not end its time slice in time, and counts that. */
static bool was_given_up(const struct board *board, unsigned index)
{
        char path[SHARE_TEXT];
        struct gpu_grant_file *grants;
        bool is_so = true; /* no page any more: no tenant either */

        snprintf(path, sizeof path, "%s/vgpu/t%u/grant", getenv("XDG_RUNTIME_DIR"), index);
        if (gpu_grant_map(path, PROT_READ, &grants, NULL) == 0) {
                is_so = atomic_load(&grants->devices[0].lapses) !=
                        atomic_load(&board->workers[index].lapses);
                gpu_grant_unmap(grants);
        }
        return is_so;
}

static bool is_excused(const struct board *board, unsigned index)
{
        return atomic_load(&board->workers[index].is_killed) || was_given_up(board, index);
}

static void token_take(struct board *board, unsigned index, struct gpu_timeslice *timeslice)
{
        const uint32_t other = atomic_exchange(&board->holder, index + 1);
        if (other == 0 || other == index + 1)
                return;
        /* Off the processor just now? Then it is we who were given up. */
        if (!is_excused(board, other - 1) && gpu_timeslice_is_on(timeslice, clock_now_ns()))
                atomic_fetch_add(&board->doubles, 1);
}

static void token_leave(struct board *board, unsigned index)
{
        uint32_t mine = index + 1;

        atomic_compare_exchange_strong(&board->holder, &mine, 0);
}

/* Now and then a piece that is longer than the time slice, and whose end is known: others wait for it. */
static void long_work(struct board *board, unsigned index, struct gpu_timeslice *timeslice)
{
        const uint64_t done_ns = clock_now_ns() + LONG_NS;

        for (uint64_t now_ns = 0; now_ns < done_ns; now_ns = clock_now_ns()) {
                const uint64_t done = atomic_fetch_add(&board->workers[index].work, 1) + 1;

                gpu_timeslice_note(timeslice, done * PIECE_NS, done_ns);
                nanosleep(&(struct timespec){ .tv_nsec = PIECE_NS }, NULL);
        }
}

static void work(struct board *board, unsigned index, struct gpu_timeslice *timeslice)
{
        const uint64_t begin_ns = clock_now_ns();
        uint64_t now_ns = begin_ns;

        while (gpu_timeslice_is_on(timeslice, now_ns) && now_ns - begin_ns < STRETCH_NS) {
                nanosleep(&(struct timespec){ .tv_nsec = PIECE_NS }, NULL);
                now_ns = clock_now_ns();
                const uint64_t done = atomic_fetch_add(&board->workers[index].work, 1) + 1;
                gpu_timeslice_note(timeslice, done * PIECE_NS, now_ns + PIECE_NS);
        }
}

/* The last work still runs: the next may get ready, and submit when that is done. */
static void drain(const struct board *board, unsigned index, struct gpu_timeslice *timeslice)
{
        gpu_timeslice_note(timeslice, atomic_load(&board->workers[index].work) * PIECE_NS,
                           clock_now_ns() + PIECE_NS);
        gpu_timeslice_drain(timeslice);
        nanosleep(&(struct timespec){ .tv_nsec = PIECE_NS }, NULL);
}

int timeslices_worker(struct board *board, unsigned index)
{
        struct gpu_timeslice timeslice;

        if (timeslice_open_own(&timeslice) < 0)
                return 1;
        atomic_store(&board->workers[index].is_killed, false);
        for (unsigned round = index;; round++) {
                /* Before: who begins and loses its processor may be given up before it can say so. */
                atomic_store(&board->workers[index].lapses, atomic_load(&timeslice.grant->lapses));
                gpu_timeslice_begin(&timeslice);
                const bool has_token =
                        timeslice.until_ns == 0 && (timeslice.number & GPU_STATE_MASK) == GPU_OPEN;

                if (has_token)
                        token_take(board, index, &timeslice);
                else
                        atomic_fetch_add(&board->workers[index].alone, 1);
                if (has_token && round % 16 == 5)
                        long_work(board, index, &timeslice);
                else
                        work(board, index, &timeslice);
                if (has_token)
                        token_leave(board, index);
                drain(board, index, &timeslice);
                const bool is_pausing = round % 8 == 0;
                gpu_timeslice_end(&timeslice, !is_pausing);
                if (is_pausing)
                        nanosleep(&(struct timespec){ .tv_nsec = 2 * PIECE_NS }, NULL);
        }
}
