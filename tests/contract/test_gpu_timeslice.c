/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the tenant's side of time slices: it waits when told to, and never for somebody who is gone. */
#include "gpu_timeslice.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "process.h"
#include "unit.h"

/* A tenant's pages, and this test as its arbiter. */
struct bench {
        char grant_path[64], want_path[64];
        struct gpu_grant_file *grants;
        struct gpu_timeslice timeslice;
};

static void bench_open(struct bench *bench)
{
        static unsigned number;
        const struct gpu_device devices[2] = { 0 };
        struct err e = { 0 };

        snprintf(bench->grant_path, sizeof bench->grant_path, "/dev/shm/vgpu-test-grant-%d-%u",
                 getpid(), ++number);
        snprintf(bench->want_path, sizeof bench->want_path, "/dev/shm/vgpu-test-want-%d-%u",
                 getpid(), number);
        assert_int_equal(
                gpu_page_create(bench->grant_path, bench->want_path, "here", devices, 2, &e), 0);
        assert_int_equal(
                gpu_grant_map(bench->grant_path, PROT_READ | PROT_WRITE, &bench->grants, &e), 0);
        assert_int_equal(
                gpu_timeslice_open(bench->grant_path, bench->want_path, 1, &bench->timeslice, &e),
                0);
}

static void bench_close(struct bench *bench)
{
        gpu_timeslice_close(&bench->timeslice);
        gpu_grant_unmap(bench->grants);
        unlink(bench->grant_path);
        unlink(bench->want_path);
}

static void arbiter_says(struct bench *bench, enum gpu_grant_state state, uint64_t deadline_ns)
{
        struct gpu_grant *grant = &bench->grants->devices[1];
        const uint32_t word = atomic_load(&grant->timeslice);

        atomic_store(&grant->heartbeat_ns, clock_now_ns());
        atomic_store(&grant->deadline_ns, deadline_ns);
        atomic_store(&grant->timeslice, ((word >> GPU_STATE_BITS) + 1) << GPU_STATE_BITS | state);
        futex_wake_all(&grant->timeslice);
}

static uint32_t bell(const struct bench *bench)
{
        return atomic_load(&bench->timeslice.wants->bell);
}

static enum gpu_slot_state slot_state(const struct gpu_slot *slot)
{
        return atomic_load(&slot->state) & GPU_STATE_MASK;
}

TEST(without_an_arbiter_from_the_start_nobody_waits_or_rings)
{
        struct bench bench;

        bench_open(&bench);
        gpu_timeslice_begin(&bench.timeslice);
        CHECK_EQ(slot_state(bench.timeslice.slot), GPU_ACTIVE);
        assert_true(gpu_timeslice_is_on(&bench.timeslice, clock_now_ns()));
        CHECK_EQ(bell(&bench), 0);
        bench_close(&bench);
}

TEST(a_holder_without_deadline_comes_and_goes_without_ringing)
{
        struct bench bench;

        bench_open(&bench);
        arbiter_says(&bench, GPU_OPEN, GPU_NO_DEADLINE);
        for (int i = 0; i < 3; i++) {
                gpu_timeslice_begin(&bench.timeslice);
                gpu_timeslice_end(&bench.timeslice, false);
        }
        CHECK_EQ(bell(&bench), 0);
        CHECK_EQ(slot_state(bench.timeslice.slot), GPU_IDLE);
        bench_close(&bench);
}

TEST(a_timeslice_ends_at_its_deadline_and_says_so)
{
        struct bench bench;
        const uint64_t now_ns = clock_now_ns();

        bench_open(&bench);
        arbiter_says(&bench, GPU_OPEN, now_ns + NS_PER_S);
        gpu_timeslice_begin(&bench.timeslice);
        CHECK_EQ(gpu_timeslice_deadline_ns(&bench.timeslice), now_ns + NS_PER_S);
        assert_true(gpu_timeslice_is_on(&bench.timeslice, now_ns));
        assert_false(gpu_timeslice_is_on(&bench.timeslice, now_ns + NS_PER_S));
        gpu_timeslice_end(&bench.timeslice, true);
        CHECK_EQ(bell(&bench), 1);
        CHECK_EQ(slot_state(bench.timeslice.slot), GPU_WANTS);
        bench_close(&bench);
}

TEST(a_timeslice_that_is_granted_early_begins_when_it_says)
{
        struct bench bench;
        const uint64_t begin_ns = clock_now_ns() + 5 * NS_PER_MS;

        bench_open(&bench);
        atomic_store(&bench.grants->devices[1].not_before_ns, begin_ns);
        arbiter_says(&bench, GPU_OPEN, begin_ns + NS_PER_S);
        gpu_timeslice_begin(&bench.timeslice);
        assert_true(clock_now_ns() + 20 * NS_PER_US >= begin_ns);
        CHECK_EQ(slot_state(bench.timeslice.slot), GPU_ACTIVE);
        /* Nonsense there holds up nobody. */
        atomic_store(&bench.grants->devices[1].not_before_ns, UINT64_MAX);
        gpu_timeslice_end(&bench.timeslice, false);
        gpu_timeslice_begin(&bench.timeslice);
        bench_close(&bench);
}

TEST(a_draining_tenant_reports_when_it_will_be_done)
{
        struct bench bench;
        const uint64_t now_ns = clock_now_ns();

        bench_open(&bench);
        arbiter_says(&bench, GPU_OPEN, now_ns + NS_PER_S);
        gpu_timeslice_begin(&bench.timeslice);
        gpu_timeslice_note(&bench.timeslice, 0, now_ns + NS_PER_MS);
        CHECK_EQ(bell(&bench), 0);
        gpu_timeslice_drain(&bench.timeslice);
        CHECK_EQ(bell(&bench), 1);
        CHECK_EQ(slot_state(bench.timeslice.slot), GPU_DRAINS);
        CHECK_EQ(bench.timeslice.slot->done_ns, now_ns + NS_PER_MS);
        gpu_timeslice_end(&bench.timeslice, true);
        CHECK_EQ(bench.timeslice.slot->done_ns, 0);
        bench_close(&bench);
}

TEST(a_recalled_timeslice_is_over_at_once)
{
        struct bench bench;

        bench_open(&bench);
        arbiter_says(&bench, GPU_OPEN, GPU_NO_DEADLINE);
        gpu_timeslice_begin(&bench.timeslice);
        atomic_store(&bench.grants->devices[1].deadline_ns, clock_now_ns());
        assert_false(gpu_timeslice_is_on(&bench.timeslice, clock_now_ns()));
        arbiter_says(&bench, GPU_CLOSED, 0);
        assert_false(gpu_timeslice_is_on(&bench.timeslice, 0));
        bench_close(&bench);
}

static void *begin_in_thread(void *timeslice)
{
        gpu_timeslice_begin(timeslice);
        return NULL;
}

TEST(a_waiting_tenant_asks_and_goes_on_when_it_is_granted)
{
        struct bench bench;
        pthread_t thread;

        bench_open(&bench);
        arbiter_says(&bench, GPU_CLOSED, 0);
        pthread_create(&thread, NULL, begin_in_thread, &bench.timeslice);
        while (bell(&bench) == 0)
                futex_wait(&bench.timeslice.wants->bell, 0, NS_PER_S);
        CHECK_EQ(slot_state(&bench.timeslice.want->slots[0]), GPU_WANTS);
        arbiter_says(&bench, GPU_OPEN, GPU_NO_DEADLINE);
        pthread_join(thread, NULL);
        CHECK_EQ(bench.timeslice.until_ns, 0); /* granted, not given up */
        CHECK_EQ(slot_state(bench.timeslice.slot), GPU_ACTIVE);
        bench_close(&bench);
}

TEST(an_arbiter_that_never_answers_is_missed_once_and_rung_for)
{
        struct bench bench;

        bench_open(&bench);
        arbiter_says(&bench, GPU_CLOSED, 0);
        const uint64_t begin_ns = clock_now_ns();
        gpu_timeslice_begin(&bench.timeslice);
        assert_true(clock_now_ns() - begin_ns >= GPU_STALE_NS);
        CHECK_EQ(atomic_load(&bench.timeslice.wants->alarm), 1);
        CHECK_EQ(gpu_timeslice_deadline_ns(&bench.timeslice), GPU_NO_DEADLINE);
        assert_true(gpu_timeslice_is_on(&bench.timeslice, clock_now_ns()));
        /* Much later there is still nobody: it goes on without a wait. */
        assert_true(gpu_timeslice_is_on(&bench.timeslice, clock_now_ns() + NS_PER_S));
        /* One that has come is obeyed, after a moment in which something gets done. */
        const uint64_t renewed_ns = bench.timeslice.until_ns - GPU_STALE_NS;
        arbiter_says(&bench, GPU_CLOSED, 0);
        assert_true(gpu_timeslice_is_on(&bench.timeslice, renewed_ns));
        assert_false(gpu_timeslice_is_on(&bench.timeslice, renewed_ns + 4 * NS_PER_MS));
        bench_close(&bench);
}

TEST(a_child_has_a_slot_of_its_own_and_dead_slots_are_reaped)
{
        struct bench bench;
        int status;

        bench_open(&bench);
        gpu_timeslice_begin(&bench.timeslice);
        const pid_t child = fork();
        if (child == 0) {
                gpu_timeslice_begin(&bench.timeslice);
                _exit(bench.timeslice.slot == &bench.timeslice.want->slots[1] ? 0 : 1);
        }
        waitpid(child, &status, 0);
        CHECK_EQ(status, 0);
        CHECK_EQ(slot_state(&bench.timeslice.want->slots[1]), GPU_ACTIVE); /* died so */
        const pid_t next = fork();
        if (next == 0) {
                gpu_timeslice_begin(&bench.timeslice);
                _exit(bench.timeslice.slot == &bench.timeslice.want->slots[1] ? 0 : 1);
        }
        waitpid(next, &status, 0);
        CHECK_EQ(status, 0);
        bench_close(&bench);
}

TEST(what_this_process_was_before_execve_has_no_slot)
{
        struct bench bench;

        bench_open(&bench);
        struct gpu_slot *slot = &bench.timeslice.want->slots[0];
        atomic_store(&slot->pid, (uint32_t)getpid());
        atomic_store(&slot->start_time, process_start_time(getpid()));
        atomic_store(&slot->state, GPU_ACTIVE);
        atomic_store(&bench.timeslice.want->slots_high, 1);
        gpu_timeslice_begin(&bench.timeslice);
        CHECK(bench.timeslice.slot == slot);
        gpu_timeslice_end(&bench.timeslice, false);
        CHECK_EQ(slot_state(slot), GPU_IDLE);
        bench_close(&bench);
}

enum { ASKERS = 2, ASKED_TIMESLICES = 200 };

struct asker {
        struct gpu_timeslice *timeslice;
        _Atomic bool *is_over;
        pthread_t thread;
};

/* As a keeper of time slices does, and threads that launch. */
static void *ask(void *closure)
{
        struct asker *asker = closure;
        const struct gpu_timeslice *timeslice = asker->timeslice;

        while (!atomic_load(asker->is_over)) {
                gpu_timeslice_is_on(asker->timeslice, clock_now_ns());
                gpu_timeslice_note(asker->timeslice, 1, gpu_timeslice_in_flight_ns(timeslice, 1));
                if (gpu_timeslice_deadline_ns(timeslice) == GPU_NO_DEADLINE)
                        futex_wait(&timeslice->grant->timeslice, timeslice->number, NS_PER_US);
        }
        return NULL;
}

/* Nothing to see without TSan but that it ends. */
/* All are another process's, which lives. */
static void slots_fill(struct bench *bench)
{
        struct gpu_want *want = bench->timeslice.want;

        for (unsigned i = 0; i < GPU_SLOTS; i++) {
                atomic_store(&want->slots[i].start_time, 0);
                atomic_store(&want->slots[i].pid, (uint32_t)getppid());
        }
        atomic_store(&want->slots_high, GPU_SLOTS);
}

struct late {
        struct bench *bench;
        _Atomic bool has_begun;
};

static void *begin_late(void *argument)
{
        struct late *late = argument;

        gpu_timeslice_begin(&late->bench->timeslice);
        atomic_store(&late->has_begun, true);
        return NULL;
}

TEST(without_a_process_slot_there_is_no_time_slice)
{
        struct bench bench;
        struct late late = { .bench = &bench };
        pthread_t thread;

        bench_open(&bench);
        slots_fill(&bench);
        arbiter_says(&bench, GPU_OPEN, GPU_NO_DEADLINE);
        assert_int_equal(pthread_create(&thread, NULL, begin_late, &late), 0);
        for (int i = 0; i < 10; i++) {
                atomic_store(&bench.grants->devices[1].heartbeat_ns, clock_now_ns());
                usleep(10000);
                assert_false(atomic_load(&late.has_begun));
        }
        atomic_store(&bench.timeslice.want->slots[7].pid, 0);
        for (int i = 0; i < 500 && !atomic_load(&late.has_begun); i++) {
                atomic_store(&bench.grants->devices[1].heartbeat_ns, clock_now_ns());
                usleep(10000);
        }
        pthread_join(thread, NULL);
        assert_true(bench.timeslice.slot == &bench.timeslice.want->slots[7]);
        bench_close(&bench);
}

TEST(without_an_arbiter_a_process_slot_is_not_waited_for)
{
        struct bench bench;

        bench_open(&bench);
        slots_fill(&bench);
        gpu_timeslice_begin(&bench.timeslice); /* the grant is free */
        assert_true(gpu_timeslice_is_on(&bench.timeslice, clock_now_ns()));
        gpu_timeslice_end(&bench.timeslice, false);
        arbiter_says(&bench, GPU_CLOSED, 0); /* and is killed */
        assert_false(gpu_timeslice_is_on(&bench.timeslice, clock_now_ns()));
        const uint64_t began_ns = clock_now_ns();
        gpu_timeslice_begin(&bench.timeslice);
        assert_true(clock_now_ns() - began_ns >= GPU_STALE_NS / 2);
        assert_true(gpu_timeslice_is_on(&bench.timeslice, clock_now_ns()));
        bench_close(&bench);
}

TEST(where_many_processes_are_an_idle_one_leaves_its_slot)
{
        struct bench bench;

        bench_open(&bench);
        arbiter_says(&bench, GPU_OPEN, GPU_NO_DEADLINE);
        gpu_timeslice_begin(&bench.timeslice);
        gpu_timeslice_end(&bench.timeslice, false);
        assert_true(bench.timeslice.slot);
        atomic_store(&bench.timeslice.want->slots_high, GPU_SLOTS);
        gpu_timeslice_begin(&bench.timeslice);
        gpu_timeslice_end(&bench.timeslice, true); /* goes on */
        assert_true(bench.timeslice.slot);
        gpu_timeslice_end(&bench.timeslice, false);
        assert_false(bench.timeslice.slot);
        CHECK_EQ(atomic_load(&bench.timeslice.want->slots[0].pid), 0);
        gpu_timeslice_note(&bench.timeslice, 1, 1);
        gpu_timeslice_begin(&bench.timeslice);
        assert_true(bench.timeslice.slot);
        bench_close(&bench);
}

TEST(others_ask_while_a_thread_takes_timeslices)
{
        struct bench bench;
        _Atomic bool is_over = false;
        struct asker askers[ASKERS];

        bench_open(&bench);
        arbiter_says(&bench, GPU_OPEN, GPU_NO_DEADLINE);
        gpu_timeslice_begin(&bench.timeslice);
        for (unsigned i = 0; i < ASKERS; i++) {
                askers[i] = (struct asker){ .timeslice = &bench.timeslice, .is_over = &is_over };
                assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
        }
        for (unsigned i = 0; i < ASKED_TIMESLICES; i++) {
                gpu_timeslice_end(&bench.timeslice, true);
                arbiter_says(&bench, GPU_OPEN, clock_now_ns() + NS_PER_S);
                gpu_timeslice_begin(&bench.timeslice);
                CHECK_EQ(bench.timeslice.number, atomic_load(&bench.grants->devices[1].timeslice));
        }
        atomic_store(&is_over, true);
        for (unsigned i = 0; i < ASKERS; i++)
                pthread_join(askers[i].thread, NULL);
        bench_close(&bench);
}

TEST(a_file_of_something_else_is_refused)
{
        struct bench bench;
        struct gpu_timeslice timeslice;
        struct err e = { 0 };

        bench_open(&bench);
        CHECK_EQ(gpu_timeslice_open(bench.want_path, bench.grant_path, 0, &timeslice, &e), -EPROTO);
        CHECK_EQ(gpu_timeslice_open(bench.grant_path, bench.want_path, 2, &timeslice, &e), -EPROTO);
        CHECK_EQ(gpu_timeslice_open("/dev/null", bench.want_path, 0, &timeslice, &e), -EPROTO);
        bench_close(&bench);
}

int main(void)
{
        return RUN(CASE(without_an_arbiter_from_the_start_nobody_waits_or_rings),
                   CASE(a_holder_without_deadline_comes_and_goes_without_ringing),
                   CASE(a_timeslice_ends_at_its_deadline_and_says_so),
                   CASE(a_timeslice_that_is_granted_early_begins_when_it_says),
                   CASE(a_draining_tenant_reports_when_it_will_be_done),
                   CASE(a_recalled_timeslice_is_over_at_once),
                   CASE(a_waiting_tenant_asks_and_goes_on_when_it_is_granted),
                   CASE(an_arbiter_that_never_answers_is_missed_once_and_rung_for),
                   CASE(a_child_has_a_slot_of_its_own_and_dead_slots_are_reaped),
                   CASE(what_this_process_was_before_execve_has_no_slot),
                   CASE(without_a_process_slot_there_is_no_time_slice),
                   CASE(without_an_arbiter_a_process_slot_is_not_waited_for),
                   CASE(where_many_processes_are_an_idle_one_leaves_its_slot),
                   CASE(others_ask_while_a_thread_takes_timeslices),
                   CASE(a_file_of_something_else_is_refused));
}
