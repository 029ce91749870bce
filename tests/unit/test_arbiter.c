/* Tests of the arbiter with tenants in the same process: it answers bells, and no tenant harms it. */
#include "arbiter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bells.h"
#include "clock.h"
#include "futex.h"
#include "gpu_turn.h"
#include "share.h"
#include "unit.h"

enum { TENANTS = 2, MANY = 300 };

struct bench {
        int count;
        char folders[MANY][64];
        struct gpu_turn turns[MANY];
        struct arbiter *arbiter;
        _Atomic uint32_t members; /* changes: the thread ends */
        pthread_t thread;
};

static void path_in(const struct bench *bench, int tenant, const char *name, char ret_path[128])
{
        snprintf(ret_path, 128, "%s/%s", bench->folders[tenant], name);
}

static void tenant_make(struct bench *bench, int tenant)
{
        char share[128], grant[128], want[128];
        struct share_copy copy = { .device_count = 1, .name = "test" };
        const struct gpu_card card = { 0 };
        struct err e = { 0 };

        bench->count = tenant + 1;
        snprintf(bench->folders[tenant], sizeof bench->folders[tenant], "/tmp/vgpu-arbiter-XXXXXX");
        assert_non_null(mkdtemp(bench->folders[tenant]));
        path_in(bench, tenant, "share", share);
        path_in(bench, tenant, "grant", grant);
        path_in(bench, tenant, "want", want);
        path_in(bench, tenant, "region", copy.region);
        strcpy(copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = SHARE_UNLIMITED;
        assert_int_equal(gpu_page_create(grant, want, "here", &card, 1, &e), 0);
        assert_int_equal(share_create(share, &copy, &e), 0);
        assert_int_equal(gpu_turn_open(grant, want, 0, &bench->turns[tenant], &e), 0);
        assert_int_equal(arbiter_add(bench->arbiter, share, &e), 0);
}

static void *arbitrate(void *argument)
{
        struct bench *bench = argument;

        while (atomic_load(&bench->members) == 0)
                arbiter_wait(bench->arbiter, arbiter_step(bench->arbiter), 0);
        return NULL;
}

static void bench_open_with(struct bench *bench, int count)
{
        memset(bench, 0, sizeof *bench);
        bench->arbiter = arbiter_new(&bench->members);
        for (int i = 0; i < count; i++)
                tenant_make(bench, i);
        arbiter_step(bench->arbiter);
        assert_int_equal(pthread_create(&bench->thread, NULL, arbitrate, bench), 0);
}

static void bench_open(struct bench *bench)
{
        bench_open_with(bench, TENANTS);
}

static void bench_remove(struct bench *bench)
{
        static const char *const names[] = { "share", "grant", "want" };
        char path[128];

        arbiter_free(bench->arbiter);
        bells_forget(&bench->members);
        for (int i = 0; i < bench->count; i++) {
                gpu_turn_close(&bench->turns[i]);
                for (int j = 0; j < 3; j++) {
                        path_in(bench, i, names[j], path);
                        unlink(path);
                }
                rmdir(bench->folders[i]);
        }
}

static void bench_close(struct bench *bench)
{
        futex_ring(&bench->members);
        pthread_join(bench->thread, NULL);
        bench_remove(bench);
}

/* They ask, one after the other has ended; none of them goes on for want of an answer. */
static void take_turns(struct bench *bench, int first, int beyond)
{
        for (int i = first; i < beyond; i++) {
                struct gpu_turn *turn = &bench->turns[i % bench->count];

                gpu_turn_begin(turn);
                /* A machine that is busy answers late; one that does not hear a bell, never. */
                for (int again = 0; turn->until_ns && again < 20; again++) {
                        gpu_turn_end(turn, false);
                        gpu_turn_begin(turn);
                }
                CHECK_EQ(turn->until_ns, 0);
                CHECK_EQ(turn->number & GPU_STATE_MASK, GPU_OPEN);
                gpu_turn_end(turn, false);
        }
}

TEST(tenants_get_their_turns_when_they_ask)
{
        struct bench bench;

        bench_open(&bench);
        take_turns(&bench, 0, 6);
        bench_close(&bench);
}

/* More than the kernel takes in one call: the last ones ring as well as the first, also when one of them has
 * gone. */
TEST(hundreds_of_tenants_get_their_turns_when_they_ask)
{
        struct bench bench;
        char path[128];

        bench_open_with(&bench, MANY);
        CHECK_EQ(arbiter_tenant_count(bench.arbiter), MANY);
        take_turns(&bench, 0, MANY);
        take_turns(&bench, MANY - 3, MANY + 3);
        futex_ring(&bench.members);
        pthread_join(bench.thread, NULL);
        path_in(&bench, 200, "share", path);
        arbiter_remove(bench.arbiter, path);
        atomic_store(&bench.members, 0);
        arbiter_step(bench.arbiter);
        assert_int_equal(pthread_create(&bench.thread, NULL, arbitrate, &bench), 0);
        take_turns(&bench, 201, MANY);
        bench_close(&bench);
}

/* Of a share: what its processes look at before every launch. */
static uint32_t limits_of(const struct share *share)
{
        return atomic_load(&share->file->limits_compute);
}

static void cores_set(struct share *share, unsigned percent)
{
        struct share_copy copy;
        struct err e = { 0 };

        memcpy(&copy, share_current(share), sizeof copy);
        copy.devices[0].cores_percent = percent;
        assert_int_equal(share_update(share, &copy, &e), 0);
}

TEST(one_without_a_limit_takes_turns_while_one_beside_it_has_one)
{
        struct bench bench = { 0 };
        struct share shares[TENANTS];
        struct err e = { 0 };
        char path[128];

        bench.arbiter = arbiter_new(&bench.members);
        for (int i = 0; i < TENANTS; i++) {
                tenant_make(&bench, i);
                path_in(&bench, i, "share", path);
                assert_int_equal(share_open(path, true, &shares[i], &e), 0);
        }
        arbiter_step(bench.arbiter);
        CHECK_EQ(limits_of(&shares[1]), 0);
        cores_set(&shares[0], 30);
        arbiter_step(bench.arbiter);
        CHECK_EQ(limits_of(&shares[0]), SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_TURNS);
        CHECK_EQ(limits_of(&shares[1]), SHARE_LIMITS_TURNS);
        CHECK_EQ(atomic_load(&bench.turns[1].grant->weight), 70);
        cores_set(&shares[1], 20); /* what the arbiter says stays */
        CHECK_EQ(limits_of(&shares[1]), SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_TURNS);
        cores_set(&shares[1], 0);
        cores_set(&shares[0], 0);
        arbiter_step(bench.arbiter);
        CHECK_EQ(limits_of(&shares[0]), 0);
        CHECK_EQ(limits_of(&shares[1]), 0);
        for (int i = 0; i < TENANTS; i++)
                share_close(&shares[i]);
        bench_remove(&bench);
}

TEST(a_kernel_that_cannot_wait_for_several_words_is_no_obstacle)
{
        struct bench bench;

        bells_use_threads(true);
        bench_open(&bench);
        take_turns(&bench, 0, 6);
        bench_close(&bench);
        bells_use_threads(false);
}

TEST(a_tenant_that_cuts_its_file_short_loses_its_turns_and_nobody_elses)
{
        struct bench bench;
        char want[128];

        bench_open(&bench);
        gpu_turn_begin(&bench.turns[0]);
        path_in(&bench, 1, "want", want);
        assert_int_equal(truncate(want, 0), 0);
        gpu_turn_end(&bench.turns[0], false);
        for (int i = 0; i < 3; i++) {
                /* Something to look at: the arbiter reads everybody's page. */
                futex_ring(&bench.turns[0].wants->bell);
                gpu_turn_begin(&bench.turns[0]);
                CHECK_EQ(bench.turns[0].until_ns, 0);
                gpu_turn_end(&bench.turns[0], false);
        }
        gpu_want_unmap(bench.turns[1].wants);
        bench.turns[1].wants = NULL;
        bench_close(&bench);
}

int main(void)
{
        return RUN(CASE(tenants_get_their_turns_when_they_ask),
                   CASE(hundreds_of_tenants_get_their_turns_when_they_ask),
                   CASE(one_without_a_limit_takes_turns_while_one_beside_it_has_one),
                   CASE(a_kernel_that_cannot_wait_for_several_words_is_no_obstacle),
                   CASE(a_tenant_that_cuts_its_file_short_loses_its_turns_and_nobody_elses));
}
