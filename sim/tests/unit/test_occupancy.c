/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the occupancy model: known values of real GPUs. */
#include "occupancy.h"

#include "preset.h"
#include "unit.h"

static const struct machine_gpu *gpu_of(const char *name)
{
        const struct preset *preset = preset_find(name);

        CHECK(preset != NULL);
        return &preset->gpu;
}

static unsigned blocks(const char *name, unsigned threads, unsigned registers, size_t shared)
{
        const struct occupancy_need need = {
                .threads = threads,
                .registers = registers,
                .dynamic_bytes = shared,
                .max_dynamic_bytes = 227 << 10,
        };

        return occupancy_blocks(gpu_of(name), &need);
}

TEST(threads_limit)
{
        CHECK_EQ(blocks("a100-40gb", 256, 32, 0), 8);
        CHECK_EQ(blocks("a100-40gb", 1024, 32, 0), 2);
        CHECK_EQ(blocks("t4-16gb", 256, 32, 0), 4);
        CHECK_EQ(blocks("l4-24gb", 256, 32, 0), 6);
        CHECK_EQ(blocks("l4-24gb", 1024, 32, 0), 1);
        CHECK_EQ(blocks("gtx-1050ti", 256, 32, 0), 8);
}

TEST(the_number_of_blocks_is_limited)
{
        CHECK_EQ(blocks("a100-40gb", 32, 16, 0), 32);
        CHECK_EQ(blocks("t4-16gb", 32, 16, 0), 16);
        CHECK_EQ(blocks("l4-24gb", 1, 16, 0), 24);
}

/* 64 registers: 2048 per warp, 32 warps; 255: 8192 per warp, two in each quarter. */
TEST(registers_limit)
{
        CHECK_EQ(blocks("a100-40gb", 256, 64, 0), 4);
        CHECK_EQ(blocks("a100-40gb", 256, 33, 0), 6);
        CHECK_EQ(blocks("a100-40gb", 256, 255, 0), 1);
        CHECK_EQ(blocks("a100-40gb", 512, 255, 0), 0);
        CHECK_EQ(blocks("a100-40gb", 1024, 64, 0), 1);
        CHECK_EQ(blocks("a100-40gb", 1024, 65, 0), 0);
}

TEST(shared_memory_limits)
{
        CHECK_EQ(blocks("a100-40gb", 128, 16, 48 << 10), 3); /* 49 KiB of 164 with the reserve */
        CHECK_EQ(blocks("a100-40gb", 128, 16, 163 << 10), 1);
        CHECK_EQ(blocks("a100-40gb", 128, 16, 164 << 10), 0);
        CHECK_EQ(blocks("t4-16gb", 128, 16, 32 << 10), 2);
        CHECK_EQ(blocks("h100-80gb", 128, 16, 227 << 10), 1);
}

TEST(a_block_that_cannot_run_counts_as_none)
{
        CHECK_EQ(blocks("a100-40gb", 0, 16, 0), 0);
        CHECK_EQ(blocks("a100-40gb", 1025, 16, 0), 0);

        const struct occupancy_need need = {
                .threads = 128, .registers = 16, .dynamic_bytes = 49153, .max_dynamic_bytes = 49152
        };

        CHECK_EQ(occupancy_blocks(gpu_of("a100-40gb"), &need), 0);
}

TEST(a_kernels_own_limit_of_threads_holds)
{
        const struct occupancy_need need = { .threads = 256, .registers = 16, .max_threads = 128 };

        CHECK_EQ(occupancy_blocks(gpu_of("a100-40gb"), &need), 0);
}

TEST(many_registers_leave_fewer_threads)
{
        CHECK_EQ(occupancy_max_threads(0), 1024);
        CHECK_EQ(occupancy_max_threads(64), 1024);
        CHECK_EQ(occupancy_max_threads(65), 896);
        CHECK_EQ(occupancy_max_threads(128), 512);
        CHECK_EQ(occupancy_max_threads(255), 256);
        CHECK_EQ(occupancy_max_threads(256), 0);
}

TEST(the_space_for_dynamic_shared_memory_fits_and_one_byte_more_does_not)
{
        struct occupancy_need need = { .threads = 128,
                                       .registers = 16,
                                       .static_bytes = 1000,
                                       .max_dynamic_bytes = 163 << 10 };

        for (unsigned n = 1; n <= 16; n++) {
                need.dynamic_bytes = 0;
                need.dynamic_bytes = occupancy_dynamic_bytes(gpu_of("a100-40gb"), &need, n);
                CHECK(need.dynamic_bytes > 0);
                CHECK(occupancy_blocks(gpu_of("a100-40gb"), &need) >= n);
                need.dynamic_bytes += 128;
                CHECK(occupancy_blocks(gpu_of("a100-40gb"), &need) < n);
        }
        CHECK_EQ(occupancy_dynamic_bytes(gpu_of("a100-40gb"), &need, 17), 0);
        CHECK_EQ(occupancy_dynamic_bytes(gpu_of("a100-40gb"), &need, 0), 0);
}

int main(void)
{
        return RUN(CASE(threads_limit), CASE(the_number_of_blocks_is_limited),
                   CASE(registers_limit), CASE(shared_memory_limits),
                   CASE(a_block_that_cannot_run_counts_as_none),
                   CASE(a_kernels_own_limit_of_threads_holds),
                   CASE(many_registers_leave_fewer_threads),
                   CASE(the_space_for_dynamic_shared_memory_fits_and_one_byte_more_does_not));
}
