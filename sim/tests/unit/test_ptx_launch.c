/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the interpreter with the kernels of ptx/basic.cu: results against plain C. */
#include "ptx_fixture.h"

TEST(vectors_are_added)
{
        struct fixture b;
        uint64_t pa, pb, pc;
        enum { N = 50000 };

        fixture_open(&b, "basic.ptx");
        float *x = fixture_array(&b, N * 4, &pa), *y = fixture_array(&b, N * 4, &pb);
        float *z = fixture_array(&b, N * 4, &pc);
        for (int i = 0; i < N; i++) {
                x[i] = (float)i * 0.5f;
                y[i] = (float)(N - i);
        }
        fixture_kernel(&b, "vector_add", (N + 255) / 256, 256);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, pc);
        fixture_param_s32(&b, N);
        fixture_done(&b);
        for (int i = 0; i < N; i++)
                CHECK(z[i] == x[i] + y[i]);
        fixture_close(&b);
}

TEST(a_block_may_be_no_multiple_of_a_warp)
{
        struct fixture b;
        uint64_t p;

        fixture_open(&b, "basic.ptx");
        int *data = fixture_array(&b, 4 * 77 * 3, &p);
        fixture_kernel(&b, "increment", 3, 77);
        fixture_param_u64(&b, p);
        fixture_param_s32(&b, 5);
        fixture_done(&b);
        fixture_done(&b);
        for (int i = 0; i < 77 * 3; i++)
                CHECK_EQ(data[i], 10);
        CHECK_EQ(b.outcome.instructions % (77 * 3), 0);
        fixture_close(&b);
}

TEST(matrices_are_multiplied_in_tiles)
{
        struct fixture b;
        uint64_t pa, pb, pc;
        enum { W = 64 };

        fixture_open(&b, "basic.ptx");
        float *x = fixture_array(&b, W * W * 4, &pa), *y = fixture_array(&b, W * W * 4, &pb);
        float *z = fixture_array(&b, W * W * 4, &pc);
        for (int i = 0; i < W * W; i++) {
                x[i] = (float)(i % 7);
                y[i] = (float)(i % 5);
        }
        fixture_kernel(&b, "matrix_multiply", W / 16, 16);
        b.launch.grid[1] = W / 16;
        b.launch.block[1] = 16;
        CHECK_EQ(ptx_kernel_footprint(b.launch.kernel)->shared_bytes, 2048);
        fixture_param_u64(&b, pc);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_s32(&b, W);
        fixture_done(&b);
        for (int i = 0; i < W; i++)
                for (int j = 0; j < W; j++) {
                        float sum = 0;

                        for (int k = 0; k < W; k++)
                                sum += x[i * W + k] * y[k * W + j];
                        CHECK(z[i * W + j] == sum);
                }
        fixture_close(&b);
}

TEST(a_matrix_is_transposed_through_shared_memory)
{
        struct fixture b;
        uint64_t in, out;
        enum { W = 96 };

        fixture_open(&b, "basic.ptx");
        float *x = fixture_array(&b, W * W * 4, &in), *y = fixture_array(&b, W * W * 4, &out);
        for (int i = 0; i < W * W; i++)
                x[i] = (float)i;
        fixture_kernel(&b, "transpose", W / 32, 32);
        b.launch.grid[1] = W / 32;
        b.launch.block[1] = 8;
        fixture_param_u64(&b, out);
        fixture_param_u64(&b, in);
        fixture_param_s32(&b, W);
        fixture_done(&b);
        for (int i = 0; i < W * W; i++)
                CHECK(y[i] == x[i % W * W + i / W]);
        fixture_close(&b);
}

TEST(a_reduction_uses_dynamic_shared_memory)
{
        struct fixture b;
        uint64_t in, out;
        enum { N = 10000, BLOCKS = 20 };
        int64_t sum = 0, expected = 0;

        fixture_open(&b, "basic.ptx");
        int *x = fixture_array(&b, N * 4, &in), *y = fixture_array(&b, BLOCKS * 4, &out);
        for (int i = 0; i < N; i++) {
                x[i] = i * 3 - 7;
                expected += x[i];
        }
        fixture_kernel(&b, "reduce_shared", BLOCKS, 256);
        b.launch.dynamic_shared_bytes = 256 * 4;
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, out);
        fixture_param_s32(&b, N);
        fixture_done(&b);
        for (int i = 0; i < BLOCKS; i++)
                sum += y[i];
        CHECK_EQ(sum, expected);
        b.launch.dynamic_shared_bytes = 100 * 4;
        CHECK_EQ(fixture_run(&b), PTX_ILLEGAL_ADDRESS);
        fixture_close(&b);
}

TEST(lanes_part_and_meet)
{
        struct fixture b;
        uint64_t in, out;
        enum { N = 3000 };

        fixture_open(&b, "basic.ptx");
        unsigned *x = fixture_array(&b, N * 4, &in), *y = fixture_array(&b, N * 4, &out);
        for (unsigned i = 0; i < N; i++)
                x[i] = i * 7919 % 100003 + 1;
        fixture_kernel(&b, "collatz", (N + 127) / 128, 128);
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, out);
        fixture_param_s32(&b, N);
        fixture_done(&b);
        for (unsigned i = 0; i < N; i++) {
                unsigned steps = 0;

                for (uint64_t v = x[i]; v > 1; steps++)
                        v = v & 1 ? 3 * v + 1 : v / 2;
                CHECK_EQ(y[i], steps);
        }
        fixture_close(&b);
}

TEST(an_address_that_is_not_mapped_ends_the_launch)
{
        struct fixture b;

        fixture_open(&b, "basic.ptx");
        fixture_kernel(&b, "increment", 1, 32);
        fixture_param_u64(&b, BENCH_BASE + (64u << 20) - 64);
        fixture_param_s32(&b, 1);
        CHECK_EQ(fixture_run(&b), PTX_ILLEGAL_ADDRESS);
        CHECK(b.outcome.fault_address == BENCH_BASE + (64u << 20));
        memset(b.params, 0, 8);
        CHECK_EQ(fixture_run(&b), PTX_ILLEGAL_ADDRESS);
        memcpy(b.params, &(uint64_t){ BENCH_BASE + 2 }, 8);
        CHECK_EQ(fixture_run(&b), PTX_MISALIGNED);
        fixture_close(&b);
}

TEST(a_budget_ends_a_long_launch)
{
        struct fixture b;
        uint64_t p;

        fixture_open(&b, "basic.ptx");
        fixture_array(&b, 4 << 20, &p);
        fixture_kernel(&b, "increment", 4096, 256);
        b.launch.budget_instructions = 1000000;
        fixture_param_u64(&b, p);
        fixture_param_s32(&b, 1);
        CHECK_EQ(fixture_run(&b), PTX_BUDGET);
        CHECK(b.outcome.instructions < 4000000);
        fixture_close(&b);
}

TEST(bad_dimensions_are_refused)
{
        struct fixture b;

        fixture_open(&b, "basic.ptx");
        fixture_kernel(&b, "increment", 0, 32);
        CHECK_EQ(ptx_launch(&b.launch, &b.outcome), -22);
        fixture_kernel(&b, "increment", 1, 1025);
        CHECK_EQ(ptx_launch(&b.launch, &b.outcome), -22);
        fixture_close(&b);
}

int main(void)
{
        return RUN(CASE(vectors_are_added), CASE(a_block_may_be_no_multiple_of_a_warp),
                   CASE(matrices_are_multiplied_in_tiles),
                   CASE(a_matrix_is_transposed_through_shared_memory),
                   CASE(a_reduction_uses_dynamic_shared_memory), CASE(lanes_part_and_meet),
                   CASE(an_address_that_is_not_mapped_ends_the_launch),
                   CASE(a_budget_ends_a_long_launch), CASE(bad_dimensions_are_refused));
}
