/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arbiter where work uses more memory than the GPU has: when time slices become longer. */
#include "arbiter.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arbiter_bench.h"
#include "clock.h"
#include "region.h"
#include "tenant.h"
#include "unit.h"

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
        return RUN(CASE(memory_that_a_tenant_does_not_hold_makes_no_time_slice_longer),
                   CASE(memory_of_users_moves_with_their_time_slices),
                   CASE(a_region_is_read_again_soon_only_while_what_is_said_is_new));
}
