/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arbiter's thread: containers of the book get time slices, from one that comes to one that goes,
 * and the next arbiter goes on where another was. */
#include "node_arbiter.h"

#include <stdatomic.h>
#include <string.h>

#include "book_bench.h"
#include "clock.h"
#include "file_lease.h"
#include "gpu_timeslice.h"
#include "share_folder.h"

static void timeslice_open(const struct held_share *held, struct gpu_timeslice *ret_timeslice)
{
        char grant[SHARE_TEXT], want[SHARE_TEXT];
        struct err e = { 0 };

        share_folder_beside(held->path, "grant", grant);
        share_folder_beside(held->path, "want", want);
        if (gpu_timeslice_open(grant, want, 0, ret_timeslice, &e) < 0)
                fail_msg("%s", e.text);
}

static bool becomes(const _Atomic uint64_t *counter, uint64_t least)
{
        const uint64_t end_ns = clock_now_ns() + 5 * NS_PER_S;

        while (atomic_load(counter) < least && clock_now_ns() < end_ns)
                usleep(1000);
        return atomic_load(counter) >= least;
}

/* Uses time slices until the arbiter has counted so many. */
static bool timeslices_until(struct gpu_timeslice *timeslice, uint64_t least)
{
        const uint64_t end_ns = clock_now_ns() + 5 * NS_PER_S;

        while (atomic_load(&timeslice->grant->timeslices) < least && clock_now_ns() < end_ns) {
                gpu_timeslice_begin(timeslice);
                gpu_timeslice_end(timeslice, true);
                usleep(100);
        }
        return atomic_load(&timeslice->grant->timeslices) >= least;
}

TEST(containers_that_come_and_go_get_time_slices)
{
        struct book_bench bench;
        struct node_arbiter *arbiter = NULL;
        struct gpu_timeslice first, second;

        book_bench_open(&bench);
        struct held_share *a = book_bench_put(&bench, "a", "c", 100, 50);
        timeslice_open(a, &first);
        CHECK_EQ(node_arbiter_new(bench.book, &arbiter), 0);
        CHECK(becomes(&first.grant->heartbeat_ns, 1));
        struct held_share *b = book_bench_put(&bench, "b", "c", 100, 50);
        timeslice_open(b, &second);
        CHECK(becomes(&second.grant->heartbeat_ns, 1));
        for (int i = 0; i < 10; i++) {
                gpu_timeslice_begin(&first);
                gpu_timeslice_end(&first, true);
                gpu_timeslice_begin(&second);
                gpu_timeslice_end(&second, true);
        }
        CHECK(becomes(&first.grant->timeslices, 1));
        CHECK(becomes(&second.grant->timeslices, 1));
        gpu_timeslice_close(&second);
        share_book_remove(bench.book, b);
        gpu_timeslice_begin(&first);
        CHECK(gpu_timeslice_is_on(&first, clock_now_ns()));
        gpu_timeslice_close(&first);
        node_arbiter_free(arbiter);
        book_bench_close(&bench);
}

TEST(without_an_arbiter_all_go_on_and_the_next_one_counts_on)
{
        struct book_bench bench;
        struct node_arbiter *arbiter = NULL;
        struct gpu_timeslice timeslice;

        book_bench_open(&bench);
        struct held_share *held = book_bench_put(&bench, "a", "c", 100, 50);
        timeslice_open(held, &timeslice);
        CHECK_EQ(node_arbiter_new(bench.book, &arbiter), 0);
        CHECK(timeslices_until(&timeslice, 1));
        const uint64_t count = atomic_load(&timeslice.grant->timeslices);
        node_arbiter_free(arbiter);
        CHECK_EQ(atomic_load(&timeslice.grant->timeslice) & GPU_STATE_MASK, GPU_FREE);
        gpu_timeslice_begin(&timeslice);
        gpu_timeslice_end(&timeslice, false);
        CHECK_EQ(node_arbiter_new(bench.book, &arbiter), 0);
        CHECK(timeslices_until(&timeslice, count + 1));
        gpu_timeslice_close(&timeslice);
        node_arbiter_free(arbiter);
        book_bench_close(&bench);
}

TEST(a_container_that_holds_its_files_back_gets_time_slices_when_it_lets_go)
{
        struct book_bench bench;
        struct node_arbiter *arbiter = NULL;
        struct gpu_timeslice first, second;
        struct lease lease;
        char want[SHARE_TEXT];

        book_bench_open(&bench);
        struct held_share *a = book_bench_put(&bench, "a", "c", 100, 50);
        struct held_share *b = book_bench_put(&bench, "b", "c", 100, 50);
        share_folder_beside(a->path, "want", want);
        lease_take(want, &lease);
        timeslice_open(b, &second);
        CHECK_EQ(node_arbiter_new(bench.book, &arbiter), 0);
        CHECK(becomes(&second.grant->heartbeat_ns, 1)); /* the other does not wait */
        lease_end(&lease);
        timeslice_open(a, &first);
        CHECK(becomes(&first.grant->heartbeat_ns, 1));
        gpu_timeslice_close(&first);
        gpu_timeslice_close(&second);
        node_arbiter_free(arbiter);
        book_bench_close(&bench);
}

static bool limits_become(const struct held_share *held, uint32_t limits)
{
        const _Atomic uint32_t *word = &held->share.file->limits_compute;
        const uint64_t end_ns = clock_now_ns() + 5 * NS_PER_S;

        while (atomic_load(word) != limits && clock_now_ns() < end_ns)
                usleep(1000);
        return atomic_load(word) == limits;
}

TEST(a_changed_share_is_read_again)
{
        struct book_bench bench;
        struct node_arbiter *arbiter = NULL;
        struct share_copy copy;
        struct err e = { 0 };

        book_bench_open(&bench);
        struct held_share *a = book_bench_put(&bench, "a", "c", 100, 0);
        struct held_share *b = book_bench_put(&bench, "b", "c", 100, 0);
        CHECK_EQ(node_arbiter_new(bench.book, &arbiter), 0);
        usleep(20000); /* it has seen both, and sleeps */
        memcpy(&copy, share_current(&a->share), sizeof copy);
        copy.devices[0].cores_percent = 30;
        CHECK_EQ(share_book_change(bench.book, a, &copy, &e), 0);
        CHECK(limits_become(b, SHARE_LIMITS_TIMESLICES));
        node_arbiter_free(arbiter);
        CHECK(limits_become(b, 0)); /* nobody arbitrates any more */
        book_bench_close(&bench);
}

int main(void)
{
        return RUN(CASE(containers_that_come_and_go_get_time_slices),
                   CASE(without_an_arbiter_all_go_on_and_the_next_one_counts_on),
                   CASE(a_changed_share_is_read_again),
                   CASE(a_container_that_holds_its_files_back_gets_time_slices_when_it_lets_go));
}
