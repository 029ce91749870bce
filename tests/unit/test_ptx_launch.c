/* Tests of the interpreter with the kernels of ptx/basic.cu: results against plain C. */
#include "ptx_bench.h"

TEST(vectors_are_added)
{
        struct bench b;
        uint64_t pa, pb, pc;
        enum { N = 50000 };

        bench_open(&b, "basic.ptx");
        float *x = bench_array(&b, N * 4, &pa), *y = bench_array(&b, N * 4, &pb);
        float *z = bench_array(&b, N * 4, &pc);
        for (int i = 0; i < N; i++) {
                x[i] = (float)i * 0.5f;
                y[i] = (float)(N - i);
        }
        bench_kernel(&b, "vector_add", (N + 255) / 256, 256);
        bench_param_u64(&b, pa);
        bench_param_u64(&b, pb);
        bench_param_u64(&b, pc);
        bench_param_s32(&b, N);
        bench_done(&b);
        for (int i = 0; i < N; i++)
                CHECK(z[i] == x[i] + y[i]);
        bench_close(&b);
}

TEST(a_block_may_be_no_multiple_of_a_warp)
{
        struct bench b;
        uint64_t p;

        bench_open(&b, "basic.ptx");
        int *data = bench_array(&b, 4 * 77 * 3, &p);
        bench_kernel(&b, "increment", 3, 77);
        bench_param_u64(&b, p);
        bench_param_s32(&b, 5);
        bench_done(&b);
        bench_done(&b);
        for (int i = 0; i < 77 * 3; i++)
                CHECK_EQ(data[i], 10);
        CHECK_EQ(b.outcome.instructions % (77 * 3), 0);
        bench_close(&b);
}

TEST(matrices_are_multiplied_in_tiles)
{
        struct bench b;
        uint64_t pa, pb, pc;
        enum { W = 64 };

        bench_open(&b, "basic.ptx");
        float *x = bench_array(&b, W * W * 4, &pa), *y = bench_array(&b, W * W * 4, &pb);
        float *z = bench_array(&b, W * W * 4, &pc);
        for (int i = 0; i < W * W; i++) {
                x[i] = (float)(i % 7);
                y[i] = (float)(i % 5);
        }
        bench_kernel(&b, "matrix_multiply", W / 16, 16);
        b.launch.grid[1] = W / 16;
        b.launch.block[1] = 16;
        CHECK_EQ(ptx_kernel_footprint(b.launch.kernel)->shared_bytes, 2048);
        bench_param_u64(&b, pc);
        bench_param_u64(&b, pa);
        bench_param_u64(&b, pb);
        bench_param_s32(&b, W);
        bench_done(&b);
        for (int i = 0; i < W; i++)
                for (int j = 0; j < W; j++) {
                        float sum = 0;

                        for (int k = 0; k < W; k++)
                                sum += x[i * W + k] * y[k * W + j];
                        CHECK(z[i * W + j] == sum);
                }
        bench_close(&b);
}

TEST(a_matrix_is_transposed_through_shared_memory)
{
        struct bench b;
        uint64_t in, out;
        enum { W = 96 };

        bench_open(&b, "basic.ptx");
        float *x = bench_array(&b, W * W * 4, &in), *y = bench_array(&b, W * W * 4, &out);
        for (int i = 0; i < W * W; i++)
                x[i] = (float)i;
        bench_kernel(&b, "transpose", W / 32, 32);
        b.launch.grid[1] = W / 32;
        b.launch.block[1] = 8;
        bench_param_u64(&b, out);
        bench_param_u64(&b, in);
        bench_param_s32(&b, W);
        bench_done(&b);
        for (int i = 0; i < W * W; i++)
                CHECK(y[i] == x[i % W * W + i / W]);
        bench_close(&b);
}

TEST(a_reduction_uses_dynamic_shared_memory)
{
        struct bench b;
        uint64_t in, out;
        enum { N = 10000, BLOCKS = 20 };
        int64_t sum = 0, expected = 0;

        bench_open(&b, "basic.ptx");
        int *x = bench_array(&b, N * 4, &in), *y = bench_array(&b, BLOCKS * 4, &out);
        for (int i = 0; i < N; i++) {
                x[i] = i * 3 - 7;
                expected += x[i];
        }
        bench_kernel(&b, "reduce_shared", BLOCKS, 256);
        b.launch.dynamic_shared_bytes = 256 * 4;
        bench_param_u64(&b, in);
        bench_param_u64(&b, out);
        bench_param_s32(&b, N);
        bench_done(&b);
        for (int i = 0; i < BLOCKS; i++)
                sum += y[i];
        CHECK_EQ(sum, expected);
        b.launch.dynamic_shared_bytes = 100 * 4;
        CHECK_EQ(bench_run(&b), PTX_ILLEGAL_ADDRESS);
        bench_close(&b);
}

TEST(lanes_part_and_meet)
{
        struct bench b;
        uint64_t in, out;
        enum { N = 3000 };

        bench_open(&b, "basic.ptx");
        unsigned *x = bench_array(&b, N * 4, &in), *y = bench_array(&b, N * 4, &out);
        for (unsigned i = 0; i < N; i++)
                x[i] = i * 7919 % 100003 + 1;
        bench_kernel(&b, "collatz", (N + 127) / 128, 128);
        bench_param_u64(&b, in);
        bench_param_u64(&b, out);
        bench_param_s32(&b, N);
        bench_done(&b);
        for (unsigned i = 0; i < N; i++) {
                unsigned steps = 0;

                for (uint64_t v = x[i]; v > 1; steps++)
                        v = v & 1 ? 3 * v + 1 : v / 2;
                CHECK_EQ(y[i], steps);
        }
        bench_close(&b);
}

TEST(an_address_that_is_not_mapped_ends_the_launch)
{
        struct bench b;

        bench_open(&b, "basic.ptx");
        bench_kernel(&b, "increment", 1, 32);
        bench_param_u64(&b, BENCH_BASE + (64u << 20) - 64);
        bench_param_s32(&b, 1);
        CHECK_EQ(bench_run(&b), PTX_ILLEGAL_ADDRESS);
        CHECK(b.outcome.fault_address == BENCH_BASE + (64u << 20));
        memset(b.params, 0, 8);
        CHECK_EQ(bench_run(&b), PTX_ILLEGAL_ADDRESS);
        memcpy(b.params, &(uint64_t){ BENCH_BASE + 2 }, 8);
        CHECK_EQ(bench_run(&b), PTX_MISALIGNED);
        bench_close(&b);
}

TEST(a_budget_ends_a_long_launch)
{
        struct bench b;
        uint64_t p;

        bench_open(&b, "basic.ptx");
        bench_array(&b, 4 << 20, &p);
        bench_kernel(&b, "increment", 4096, 256);
        b.launch.budget_instructions = 1000000;
        bench_param_u64(&b, p);
        bench_param_s32(&b, 1);
        CHECK_EQ(bench_run(&b), PTX_BUDGET);
        CHECK(b.outcome.instructions < 4000000);
        bench_close(&b);
}

TEST(bad_dimensions_are_refused)
{
        struct bench b;

        bench_open(&b, "basic.ptx");
        bench_kernel(&b, "increment", 0, 32);
        CHECK_EQ(ptx_launch(&b.launch, &b.outcome), -22);
        bench_kernel(&b, "increment", 1, 1025);
        CHECK_EQ(ptx_launch(&b.launch, &b.outcome), -22);
        bench_close(&b);
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
