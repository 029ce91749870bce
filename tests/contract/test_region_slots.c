/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of slots in the region: they stay where they are, and there are thousands. */
#include "region.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

#define MIB (UINT64_C(1) << 20)

enum { MANY = 2000 };

/* Each is a process as far as the region knows. */
static struct region *open_many(unsigned count)
{
        struct region *regions = aligned_alloc(64, count * sizeof *regions);
        struct err e = { 0 };
        char path[64];

        snprintf(path, sizeof path, "/dev/shm/vgpu-test-slots-%d", getpid());
        unlink(path);
        for (unsigned i = 0; i < count; i++) {
                assert_int_equal(region_open(path, 1, &regions[i], &e), 0);
                assert_int_equal(region_join(&regions[i]), 0);
        }
        unlink(path);
        return regions;
}

static void close_many(struct region *regions, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                region_close(&regions[i]);
        free(regions);
}

TEST(two_thousand_processes_have_a_slot_each)
{
        struct region *regions = open_many(MANY);

        for (unsigned i = 0; i < MANY; i++)
                CHECK_EQ(region_charge(&regions[i], 0, REGION_DEVICE, MIB, MANY * MIB), 0);
        CHECK_EQ(region_used_bytes(&regions[0], 0), MANY * MIB);
        CHECK(region_charge(&regions[MANY - 1], 0, REGION_DEVICE, 512, MANY * MIB) < 0);
        close_many(regions, MANY);
}

/* Whoever leaves moves nobody: what the others hold is theirs and nothing wraps round. */
TEST(processes_that_leave_move_no_other_slot)
{
        enum { COUNT = 64 };
        struct region *regions = open_many(COUNT);
        uint32_t slots[COUNT];

        for (unsigned i = 0; i < COUNT; i++) {
                slots[i] = regions[i].slot;
                CHECK_EQ(region_charge(&regions[i], 0, REGION_DEVICE, (i + 1) * MIB, UINT64_MAX),
                         0);
        }
        for (unsigned i = 0; i < COUNT; i += 2)
                region_leave(&regions[i]);
        uint64_t sum = 0;
        for (unsigned i = 1; i < COUNT; i += 2) {
                CHECK_EQ(regions[i].slot, slots[i]);
                CHECK_EQ(region_held_bytes(&regions[i], slots[i], 0), (i + 1) * MIB);
                sum += (i + 1) * MIB;
        }
        CHECK_EQ(region_used_bytes(&regions[1], 0), sum);
        for (unsigned i = 1; i < COUNT; i += 2)
                region_refund(&regions[i], 0, REGION_DEVICE, (i + 1) * MIB);
        CHECK_EQ(region_used_bytes(&regions[1], 0), 0);
        close_many(regions, COUNT);
}

/* Two views of one process: the program that it was, and the one that it is since execve(). */
TEST(what_a_process_held_before_it_became_another_program_is_reaped)
{
        struct region *regions = open_many(3);

        CHECK_EQ(region_charge(&regions[0], 0, REGION_DEVICE, 4 * MIB, 4 * MIB), 0);
        region_leave(&regions[1]);
        region_forget_image(&regions[1]);
        CHECK_EQ(region_join(&regions[1]), 0);
        CHECK_EQ(region_used_bytes(&regions[1], 0), 4 * MIB); /* until somebody looks */
        CHECK_EQ(region_reap(&regions[1]), 2);
        CHECK_EQ(region_used_bytes(&regions[1], 0), 0);
        CHECK_EQ(region_charge(&regions[1], 0, REGION_DEVICE, 4 * MIB, 4 * MIB), 0);
        region_close(&regions[1]);
        free(regions);
}

int main(void)
{
        return RUN(CASE(two_thousand_processes_have_a_slot_each),
                   CASE(processes_that_leave_move_no_other_slot),
                   CASE(what_a_process_held_before_it_became_another_program_is_reaped));
}
