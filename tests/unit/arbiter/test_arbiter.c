/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arbiter with tenants in the same process: it answers doorbells, and no tenant harms it. */
#include "arbiter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "futex.h"
#include "futex_set.h"
#include "gpu_timeslice.h"
#include "region.h"
#include "share.h"
#include "tenant.h"
#include "unit.h"

enum { TENANTS = 2, MANY = 300 };

struct bench {
        int count;
        char folders[MANY][64];
        struct gpu_timeslice timeslices[MANY];
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
        const struct gpu_device gpu_device = { 0 };
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
        assert_int_equal(gpu_page_create(grant, want, "here", &gpu_device, 1, &e), 0);
        assert_int_equal(share_create(share, &copy, &e), 0);
        assert_int_equal(gpu_timeslice_open(grant, want, 0, &bench->timeslices[tenant], &e), 0);
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
        futex_set_forget(&bench->members);
        for (int i = 0; i < bench->count; i++) {
                gpu_timeslice_close(&bench->timeslices[i]);
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
static void timeslices_take(struct bench *bench, int first, int beyond)
{
        for (int i = first; i < beyond; i++) {
                struct gpu_timeslice *timeslice = &bench->timeslices[i % bench->count];

                gpu_timeslice_begin(timeslice);
                /* A machine that is busy answers late; one that does not hear a doorbell, never. */
                for (int again = 0; timeslice->until_ns && again < 20; again++) {
                        gpu_timeslice_end(timeslice, false);
                        gpu_timeslice_begin(timeslice);
                }
                CHECK_EQ(timeslice->until_ns, 0);
                CHECK_EQ(timeslice->number & GPU_STATE_MASK, GPU_OPEN);
                gpu_timeslice_end(timeslice, false);
        }
}

TEST(tenants_get_time_slices_on_request)
{
        struct bench bench;

        bench_open(&bench);
        timeslices_take(&bench, 0, 6);
        bench_close(&bench);
}

static void *begin_first(void *argument)
{
        struct bench *bench = argument;

        gpu_timeslice_begin(&bench->timeslices[0]);
        return NULL;
}

/* Nothing else of its container wants, so that the arbiter sleeps while the other has the GPU alone. */
TEST(without_a_process_slot_nobody_goes_on_beside_the_holder)
{
        struct bench bench;
        pthread_t thread;

        bench_open(&bench);
        struct gpu_want *want = bench.timeslices[0].want;
        for (unsigned i = 0; i < GPU_SLOTS; i++)
                atomic_store(&want->slots[i].pid, (uint32_t)getppid());
        atomic_store(&want->slots_high, GPU_SLOTS);
        gpu_timeslice_begin(&bench.timeslices[1]);
        const uint32_t held = bench.timeslices[1].number;
        assert_int_equal(pthread_create(&thread, NULL, begin_first, &bench), 0);
        usleep(300000);
        CHECK_EQ(bench.timeslices[0].number, 0);
        CHECK_EQ(atomic_load(&bench.timeslices[1].grant->timeslice), held);
        gpu_timeslice_end(&bench.timeslices[1], false);
        atomic_store(&want->slots[7].pid, 0);
        pthread_join(thread, NULL);
        assert_true(bench.timeslices[0].slot == &want->slots[7]);
        CHECK_EQ(bench.timeslices[0].until_ns, 0);
        gpu_timeslice_end(&bench.timeslices[0], false);
        bench_close(&bench);
}

/* More than the kernel takes in one call: the last ones ring as well as the first, also when one of them has
 * gone. */
TEST(hundreds_of_tenants_get_time_slices_on_request)
{
        struct bench bench;
        char path[128];

        bench_open_with(&bench, MANY);
        timeslices_take(&bench, 0, MANY);
        timeslices_take(&bench, MANY - 3, MANY + 3);
        futex_ring(&bench.members);
        pthread_join(bench.thread, NULL);
        path_in(&bench, 200, "share", path);
        arbiter_remove(bench.arbiter, path);
        atomic_store(&bench.members, 0);
        arbiter_step(bench.arbiter);
        assert_int_equal(pthread_create(&bench.thread, NULL, arbitrate, &bench), 0);
        timeslices_take(&bench, 201, MANY);
        bench_close(&bench);
}

/* Of a share: what its processes read before every launch. */
static uint32_t limits_of(const struct share *share)
{
        return atomic_load(&share->file->limits_compute);
}

static void limits_set(struct share *share, unsigned percent, uint32_t weight)
{
        struct share_copy copy;
        struct err e = { 0 };

        memcpy(&copy, share_current(share), sizeof copy);
        copy.devices[0].cores_percent = percent;
        copy.devices[0].weight = weight;
        assert_int_equal(share_update(share, &copy, &e), 0);
}

static void cores_set(struct share *share, unsigned percent)
{
        limits_set(share, percent, 0);
}

TEST(a_tenant_without_a_limit_gets_time_slices_beside_a_limited_one)
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
        CHECK_EQ(limits_of(&shares[0]), SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_TIMESLICES);
        CHECK_EQ(limits_of(&shares[1]), SHARE_LIMITS_TIMESLICES);
        CHECK_EQ(atomic_load(&bench.timeslices[1].grant->weight), 70);
        cores_set(&shares[1], 20); /* what the arbiter says stays */
        CHECK_EQ(limits_of(&shares[1]), SHARE_LIMITS_LAUNCHES | SHARE_LIMITS_TIMESLICES);
        cores_set(&shares[1], 0);
        cores_set(&shares[0], 0);
        arbiter_step(bench.arbiter);
        CHECK_EQ(limits_of(&shares[0]), 0);
        CHECK_EQ(limits_of(&shares[1]), 0);
        for (int i = 0; i < TENANTS; i++)
                share_close(&shares[i]);
        bench_remove(&bench);
}

TEST(tenants_are_heard_without_futex_waitv)
{
        struct bench bench;

        futex_set_use_threads(true);
        bench_open(&bench);
        timeslices_take(&bench, 0, 6);
        bench_close(&bench);
        futex_set_use_threads(false);
}

TEST(a_tenant_that_truncates_its_file_loses_only_its_own_time_slices)
{
        struct bench bench;
        char want[128];

        bench_open(&bench);
        gpu_timeslice_begin(&bench.timeslices[0]);
        path_in(&bench, 1, "want", want);
        assert_int_equal(truncate(want, 0), 0);
        gpu_timeslice_end(&bench.timeslices[0], false);
        for (int i = 0; i < 3; i++) {
                /* Something to do: the arbiter reads everybody's page. */
                futex_ring(&bench.timeslices[0].wants->bell);
                gpu_timeslice_begin(&bench.timeslices[0]);
                CHECK_EQ(bench.timeslices[0].until_ns, 0);
                gpu_timeslice_end(&bench.timeslices[0], false);
        }
        gpu_want_unmap(bench.timeslices[1].wants);
        bench.timeslices[1].wants = NULL;
        bench_close(&bench);
}

/* The arbiter's thread that waits for that tenant's doorbell sleeps on a page that is gone. */
TEST(nor_does_it_hold_up_an_arbiter_that_waits_by_threads)
{
        struct bench bench;
        char want[128];

        futex_set_use_threads(true);
        bench_open(&bench);
        timeslices_take(&bench, 0, 1);
        path_in(&bench, 1, "want", want);
        assert_int_equal(truncate(want, 0), 0);
        gpu_want_unmap(bench.timeslices[1].wants);
        bench.timeslices[1].wants = NULL;
        for (int i = 0; i < 3; i++) {
                futex_ring(&bench.timeslices[0].wants->bell);
                timeslices_take(&bench, 0, 1);
        }
        bench_close(&bench);
        futex_set_use_threads(false);
}

/* A tenant that writes to its own files while the arbiter reads them, by a mapping of its own as another
 * process would. */
struct liar {
        char share[128], grant[128];
        struct share own;
        struct gpu_grant_file *grants;
        _Atomic bool is_ending;
        pthread_t thread;
};

static void *lie(void *argument)
{
        struct liar *liar = argument;
        struct share_file *file = liar->own.file;

        for (uint32_t i = 0; !atomic_load(&liar->is_ending); i++) {
                const uint32_t count = i & 1 ? 1 : 0x7fffffff;

                __atomic_store_n(&file->copies[0].device_count, count, __ATOMIC_SEQ_CST);
                __atomic_store_n(&liar->grants->device_count, count, __ATOMIC_SEQ_CST);
                atomic_store(&file->index, i >> 4 & 1); /* the other copy: never right */
                for (int pause = 0; pause < 200; pause++)
                        __asm__ volatile("");
        }
        return NULL;
}

static void liar_open(struct liar *liar, const struct bench *bench)
{
        struct err e = { 0 };

        memset(liar, 0, sizeof *liar);
        path_in(bench, 0, "share", liar->share);
        path_in(bench, 0, "grant", liar->grant);
        assert_int_equal(share_open(liar->share, true, &liar->own, &e), 0);
        assert_int_equal(gpu_grant_map(liar->grant, PROT_READ | PROT_WRITE, &liar->grants, &e), 0);
        memset((void *)&liar->own.file->copies[1], 0xff, sizeof liar->own.file->copies[1]);
}

static void liar_close(struct liar *liar)
{
        share_close(&liar->own);
        gpu_grant_unmap(liar->grants);
}

TEST(a_tenant_that_changes_its_count_of_devices_while_it_is_read_harms_nobody)
{
        enum { ROUNDS = 3000 };
        struct bench bench = { 0 };
        struct liar liar;
        struct err e = { 0 };
        int let_in = 0;

        bench.arbiter = arbiter_new(&bench.members);
        tenant_make(&bench, 0);
        liar_open(&liar, &bench);
        assert_int_equal(pthread_create(&liar.thread, NULL, lie, &liar), 0);
        for (int i = 0; i < ROUNDS; i++) {
                arbiter_step(bench.arbiter);
                arbiter_remove(bench.arbiter, liar.share);
                let_in += arbiter_add(bench.arbiter, liar.share, &e) == 0;
        }
        atomic_store(&liar.is_ending, true);
        pthread_join(liar.thread, NULL);
        CHECK(let_in > 0); /* the race was run: some reads were of files that were right */
        liar_close(&liar);
        bench_remove(&bench);
}

TEST(a_copy_that_was_never_checked_changes_no_limit)
{
        struct bench bench = { 0 };
        struct liar liar;

        bench.arbiter = arbiter_new(&bench.members);
        tenant_make(&bench, 0);
        tenant_make(&bench, 1);
        liar_open(&liar, &bench);
        cores_set(&liar.own, 30); /* to the copy that was not in use */
        memset((void *)&liar.own.file->copies[0], 0xff, sizeof liar.own.file->copies[0]);
        arbiter_step(bench.arbiter);
        CHECK_EQ(atomic_load(&bench.timeslices[0].grant->weight), 30);
        atomic_store(&liar.own.file->index, 0);
        arbiter_step(bench.arbiter);
        CHECK_EQ(atomic_load(&bench.timeslices[0].grant->weight), 30);
        CHECK_EQ(atomic_load(&bench.timeslices[1].grant->weight), 70);
        atomic_store(&liar.own.file->index, 1);
        cores_set(&liar.own, 40); /* what is right is heard again */
        arbiter_step(bench.arbiter);
        CHECK_EQ(atomic_load(&bench.timeslices[0].grant->weight), 40);
        liar_close(&liar);
        bench_remove(&bench);
}

static void folder_give(struct bench *bench, int tenant, uid_t user)
{
        char share[128];
        struct err e = { 0 };

        path_in(bench, tenant, "share", share);
        arbiter_remove(bench->arbiter, share);
        CHECK_EQ(chown(bench->folders[tenant], user, user), 0);
        CHECK_EQ(arbiter_add(bench->arbiter, share, &e), 0);
}

static uint32_t weight_of(const struct bench *bench, int tenant)
{
        return atomic_load(&bench->timeslices[tenant].grant->weight);
}

/* However many there are, and whatever is written in them. */
TEST(the_shares_of_a_user_weigh_no_more_than_one_gpu)
{
        enum { SHARES = 5 };
        struct bench bench = { 0 };
        struct share share;
        char path[128];

        if (getuid() != 0)
                skip();
        bench.arbiter = arbiter_new(&bench.members);
        for (int i = 0; i < SHARES; i++) {
                tenant_make(&bench, i);
                path_in(&bench, i, "share", path);
                CHECK_EQ(share_open(path, true, &share, NULL), 0);
                limits_set(&share, i ? 100 : 60, i ? 10000 : 0);
                share_close(&share);
                if (i)
                        folder_give(&bench, i, i < SHARES - 1 ? 1000 : 1001);
        }
        arbiter_step(bench.arbiter);
        CHECK_EQ(weight_of(&bench, 0), 60);
        for (int i = 1; i < SHARES - 1; i++)
                CHECK_EQ(weight_of(&bench, i), 33);
        CHECK_EQ(weight_of(&bench, SHARES - 1), 100);
        path_in(&bench, 1, "share", path);
        arbiter_remove(bench.arbiter, path);
        arbiter_step(bench.arbiter);
        CHECK_EQ(weight_of(&bench, 2), 50);
        bench_remove(&bench);
}

#define MIB (UINT64_C(1) << 20)

/* It wants, and says what its work touches. */
static void resident_say(struct bench *bench, int tenant, uint64_t bytes)
{
        struct gpu_want *want = bench->timeslices[tenant].want;

        atomic_store(&want->resident_bytes, bytes);
        atomic_store(&want->slots_high, 1);
        atomic_store(&want->slots[0].state, GPU_WANTS);
}

/* Taken in anew by the arbiter, on a GPU of this size. */
static void tenant_again(struct bench *bench, int tenant, uint64_t device_bytes)
{
        struct gpu_grant_file *grants;
        char share[128], grant[128];
        struct err e = { 0 };

        path_in(bench, tenant, "share", share);
        path_in(bench, tenant, "grant", grant);
        arbiter_remove(bench->arbiter, share);
        assert_int_equal(gpu_grant_map(grant, PROT_READ | PROT_WRITE, &grants, &e), 0);
        grants->devices[0].device_bytes = device_bytes;
        grants->devices[0].swap_bytes_per_s = device_bytes;
        gpu_grant_unmap(grants);
        assert_int_equal(arbiter_add(bench->arbiter, share, &e), 0);
}

static bool is_crowded_now(struct bench *bench)
{
        bool is = false;

        arbiter_step(bench->arbiter);
        for (int i = 0; i < TENANTS; i++)
                is |= atomic_load(&bench->timeslices[i].grant->flags) & GPU_GRANT_CROWDED;
        return is;
}

static bool is_crowded(struct bench *bench)
{
        for (int i = 0; i < TENANTS; i++)
                tenant_again(bench, i, 1000 * MIB);
        return is_crowded_now(bench);
}

static void region_hold(const struct bench *bench, int tenant, uint64_t bytes,
                        struct region *ret_region)
{
        char path[128];

        path_in(bench, tenant, "region", path);
        CHECK_EQ(region_open(path, 1, ret_region, NULL), 0);
        CHECK_EQ(region_join(ret_region), 0);
        CHECK_EQ(region_charge(ret_region, 0, REGION_DEVICE, bytes, UINT64_MAX), 0);
}

static void region_remove(const struct bench *bench, int tenant, struct region *region)
{
        char path[128];

        path_in(bench, tenant, "region", path);
        region_close(region);
        unlink(path);
}

/* Otherwise anybody makes the time slices of all as long as if memory were swapped. */
TEST(memory_that_a_tenant_does_not_hold_makes_no_time_slice_longer)
{
        struct bench bench = { 0 };
        static struct region regions[TENANTS];

        bench.arbiter = arbiter_new(&bench.members);
        for (int i = 0; i < TENANTS; i++) {
                tenant_make(&bench, i);
                resident_say(&bench, i, 750 * MIB);
        }
        CHECK(!is_crowded(&bench));
        for (int i = 0; i < TENANTS; i++)
                region_hold(&bench, i, 500 * MIB, &regions[i]);
        CHECK(!is_crowded(&bench));
        for (int i = 0; i < TENANTS; i++)
                CHECK_EQ(region_charge(&regions[i], region_virtual(0), REGION_MANAGED, 250 * MIB,
                                       UINT64_MAX),
                         0);
        CHECK(is_crowded(&bench));
        for (int i = 0; i < TENANTS; i++)
                region_remove(&bench, i, &regions[i]);
        bench_remove(&bench);
}

static void arbiter_begin_again(struct bench *bench)
{
        arbiter_free(bench->arbiter);
        bench->arbiter = arbiter_new(&bench->members);
}

/* What one of them says of the GPU counts among users; beside a container, what the container's page says. */
TEST(memory_of_users_moves_with_their_time_slices)
{
        struct bench bench = { 0 };
        static struct region regions[TENANTS];

        if (getuid() != 0)
                skip();
        bench.arbiter = arbiter_new(&bench.members);
        for (int i = 0; i < TENANTS; i++) {
                tenant_make(&bench, i);
                resident_say(&bench, i, 750 * MIB);
                region_hold(&bench, i, 750 * MIB, &regions[i]);
                folder_give(&bench, i, 1000 + (uid_t)i);
        }
        arbiter_begin_again(&bench);
        CHECK(is_crowded(&bench));
        folder_give(&bench, 0, 0);
        arbiter_begin_again(&bench);
        tenant_again(&bench, 1, 1000 * MIB);
        tenant_again(&bench, 0, 2000 * MIB);
        CHECK(!is_crowded_now(&bench));
        arbiter_begin_again(&bench);
        tenant_again(&bench, 1, 2000 * MIB);
        tenant_again(&bench, 0, 1000 * MIB);
        tenant_again(&bench, 1, 2000 * MIB);
        CHECK(is_crowded_now(&bench));
        for (int i = 0; i < TENANTS; i++)
                region_remove(&bench, i, &regions[i]);
        bench_remove(&bench);
}

/* What a program that has ended said is more than its container is charged with, for ever. */
TEST(a_region_is_read_again_soon_only_while_what_is_said_is_new)
{
        struct bench bench = { 0 };
        struct tenant tenant;
        struct err e = { 0 };
        char path[128];

        bench.arbiter = arbiter_new(&bench.members);
        tenant_make(&bench, 0);
        path_in(&bench, 0, "share", path);
        CHECK_EQ(tenant_open(path, &tenant, &e), 0);
        resident_say(&bench, 0, 750 * MIB);
        for (uint64_t now_ns = NS_PER_S; now_ns < 4 * NS_PER_S; now_ns += NS_PER_S / 10) {
                tenant_charges_refresh(&tenant, now_ns);
                if (now_ns == NS_PER_S)
                        CHECK_EQ(tenant_charges_due_ns(&tenant), now_ns + NS_PER_S / 10);
        }
        CHECK_EQ(tenant_charges_due_ns(&tenant), UINT64_MAX);
        resident_say(&bench, 0, 760 * MIB);
        tenant_charges_refresh(&tenant, 4 * NS_PER_S);
        CHECK_EQ(tenant_charges_due_ns(&tenant), 4 * NS_PER_S + NS_PER_S / 10);
        tenant_close(&tenant);
        bench_remove(&bench);
}

int main(void)
{
        return RUN(CASE(tenants_get_time_slices_on_request),
                   CASE(without_a_process_slot_nobody_goes_on_beside_the_holder),
                   CASE(hundreds_of_tenants_get_time_slices_on_request),
                   CASE(a_tenant_without_a_limit_gets_time_slices_beside_a_limited_one),
                   CASE(tenants_are_heard_without_futex_waitv),
                   CASE(a_tenant_that_truncates_its_file_loses_only_its_own_time_slices),
                   CASE(nor_does_it_hold_up_an_arbiter_that_waits_by_threads),
                   CASE(a_tenant_that_changes_its_count_of_devices_while_it_is_read_harms_nobody),
                   CASE(a_copy_that_was_never_checked_changes_no_limit),
                   CASE(the_shares_of_a_user_weigh_no_more_than_one_gpu),
                   CASE(memory_that_a_tenant_does_not_hold_makes_no_time_slice_longer),
                   CASE(a_region_is_read_again_soon_only_while_what_is_said_is_new),
                   CASE(memory_of_users_moves_with_their_time_slices));
}
