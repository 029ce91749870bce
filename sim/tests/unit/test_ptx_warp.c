/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the interpreter with the kernels of ptx/warp.cu: threads that meet. */
#include "ptx_fixture.h"

TEST(a_reduction_shuffles_within_warps)
{
        struct fixture b;
        uint64_t in, out;
        enum { N = 100000 };
        int32_t expected = 0;

        fixture_open(&b, "warp.ptx");
        int *x = fixture_array(&b, N * 4, &in), *y = fixture_array(&b, 4, &out);
        for (int i = 0; i < N; i++) {
                x[i] = i % 1000 - 400;
                expected += x[i];
        }
        fixture_kernel(&b, "reduce_shuffle", 40, 256);
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, out);
        fixture_param_s32(&b, N);
        fixture_done(&b);
        CHECK_EQ(*y, expected);
        fixture_close(&b);
}

TEST(a_block_scans)
{
        struct fixture b;
        uint64_t in, out;
        int sum = 0;

        fixture_open(&b, "warp.ptx");
        int *x = fixture_array(&b, 1024 * 4, &in), *y = fixture_array(&b, 1024 * 4, &out);
        for (int i = 0; i < 1024; i++)
                x[i] = i * 31 % 17 - 4;
        fixture_kernel(&b, "scan_block", 1, 1024);
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int i = 0; i < 1024; i++) {
                sum += x[i];
                CHECK_EQ(y[i], sum);
        }
        fixture_close(&b);
}

TEST(a_histogram_counts_with_shared_and_global_atomics)
{
        struct fixture b;
        uint64_t in, bins;
        enum { N = 60000 };
        unsigned expected[256] = { 0 };

        fixture_open(&b, "warp.ptx");
        unsigned char *x = fixture_array(&b, N, &in);
        unsigned *y = fixture_array(&b, 1024, &bins);
        for (unsigned i = 0; i < N; i++) {
                x[i] = (unsigned char)(i * i >> 3);
                expected[x[i]]++;
        }
        fixture_kernel(&b, "histogram", 24, 192);
        b.launch.workers = 2;
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, bins);
        fixture_param_s32(&b, N);
        fixture_done(&b);
        for (int i = 0; i < 256; i++)
                CHECK_EQ(y[i], expected[i]);
        fixture_close(&b);
}

TEST(votes_and_matches_agree)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "warp.ptx");
        unsigned *y = fixture_array(&b, 64 * 12 * 4, &out);
        fixture_kernel(&b, "votes", 1, 64);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (unsigned t = 0; t < 64; t++) {
                unsigned lane = t & 31, group = 0;
                const unsigned *r = y + t * 12;

                for (unsigned k = 0; k < 32; k++)
                        group |= (unsigned)(k / 5 == lane / 5) << k;
                CHECK_EQ(r[0], 0x49249249);
                CHECK_EQ(r[1], 0);
                CHECK_EQ(r[2], 1);
                CHECK_EQ(r[3], group);
                CHECK_EQ(r[4], (lane ^ 5) * 10);
                CHECK_EQ(r[5], (lane & 16) + 107);
                CHECK_EQ(r[6], 20);
                CHECK_EQ(r[7], 0);
                CHECK_EQ(r[8], 1);
                CHECK_EQ(r[9], lane & 1 ? 0xaaaaaa00 : 0x55555555);
                CHECK_EQ(r[10], 0xffffffff);
                CHECK_EQ(r[11], 1);
        }
        fixture_close(&b);
}

TEST(a_warp_reduces_in_one_instruction)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "warp.ptx");
        unsigned *y = fixture_array(&b, 4 * 32 * 4, &out);
        fixture_kernel(&b, "reduce_hardware", 1, 32);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int lane = 0; lane < 32; lane++) {
                CHECK_EQ(y[lane], 496);
                CHECK_EQ((int)y[32 + lane], -5);
                CHECK_EQ(y[64 + lane], 93);
                CHECK_EQ(y[96 + lane], 0xffffffff);
        }
        fixture_close(&b);
}

TEST(lanes_that_spin_do_not_starve_the_one_they_wait_for)
{
        struct fixture b;
        uint64_t lock, count;

        fixture_open(&b, "warp.ptx");
        fixture_array(&b, 4, &lock);
        int *y = fixture_array(&b, 4, &count);
        fixture_kernel(&b, "spin_lock", 6, 64);
        b.launch.workers = 2;
        b.launch.budget_instructions = 1000000000;
        fixture_param_u64(&b, lock);
        fixture_param_u64(&b, count);
        fixture_done(&b);
        CHECK_EQ(*y, 6 * 64);
        fixture_close(&b);
}

TEST(atomics_lose_nothing)
{
        struct fixture b;
        uint64_t pi, pu, pf, pd, pl;
        enum { N = 64 * 200 };

        fixture_open(&b, "warp.ptx");
        int *i = fixture_array(&b, 12, &pi);
        unsigned *u = fixture_array(&b, 20, &pu), parity = 0;
        float *f = fixture_array(&b, 4, &pf);
        double *d = fixture_array(&b, 8, &pd);
        uint64_t *l = fixture_array(&b, 16, &pl);
        u[0] = 0xffffffff;
        for (unsigned t = 0; t < N; t++)
                parity ^= t;
        fixture_kernel(&b, "atomics", N / 64, 64);
        b.launch.workers = 2;
        fixture_param_u64(&b, pi);
        fixture_param_u64(&b, pu);
        fixture_param_u64(&b, pf);
        fixture_param_u64(&b, pd);
        fixture_param_u64(&b, pl);
        fixture_done(&b);
        CHECK_EQ(i[0], 1 - N);
        CHECK_EQ(i[1], N - 1);
        CHECK_EQ(i[2], -2 * N);
        CHECK_EQ(u[0], 0xffff0000);
        CHECK_EQ(u[1], 0xffffffff);
        CHECK_EQ(u[2], parity);
        CHECK_EQ(u[3], N % 10);
        CHECK_EQ(u[4], (10 - N % 10) % 10);
        CHECK(*f == (float)N);
        CHECK(*d == N * 0.5);
        CHECK(l[0] == (uint64_t)N << 33);
        CHECK(l[1] == (uint64_t)(N - 1) << 40);
        fixture_close(&b);
}

TEST(a_clock_moves_on_with_each_read)
{
        struct fixture b;
        uint64_t out;
        int64_t cycles = 50000; /* 50 µs at 1 GHz */

        fixture_open(&b, "warp.ptx");
        int64_t *y = fixture_array(&b, 8 * 8, &out);
        fixture_kernel(&b, "spin_clock", 8, 32);
        CHECK(ptx_kernel_footprint(b.launch.kernel)->reads_clock);
        fixture_param_u64(&b, out);
        fixture_param(&b, &cycles, sizeof cycles);
        fixture_done(&b);
        CHECK_EQ(y[0], 50050); /* 50 reads cost a cycle each */
        /* Two waves of four blocks, 51 reads each. */
        CHECK_EQ(b.outcome.clock_spent_ns, 2 * 51000);
        CHECK(!ptx_kernel_footprint(ptx_kernel_find(b.module, "atomics"))->reads_clock);
        fixture_close(&b);
}

TEST(a_grid_meets_at_its_barrier)
{
        struct fixture b;
        uint64_t data, out;
        enum { N = 30 * 64, ROUNDS = 5 };

        fixture_open(&b, "warp.ptx");
        int *x = fixture_array(&b, N * 4, &data);
        fixture_array(&b, N * 4, &out);
        for (int i = 0; i < N; i++)
                x[i] = i;
        fixture_kernel(&b, "grid_barrier", 30, 64);
        b.launch.is_cooperative = true;
        b.launch.workers = 2;
        fixture_param_u64(&b, data);
        fixture_param_u64(&b, out);
        fixture_param_s32(&b, ROUNDS);
        fixture_done(&b);
        for (int i = 0; i < N; i++)
                CHECK_EQ(x[i], (i + ROUNDS) % N + ROUNDS);
        b.launch.is_cooperative = false;
        CHECK_EQ(fixture_run(&b), PTX_TRAP);
        fixture_close(&b);
}

TEST(the_last_block_sees_what_all_wrote)
{
        struct fixture b;
        uint64_t in, partial, done, out;
        enum { BLOCKS = 50 };

        fixture_open(&b, "warp.ptx");
        int *x = fixture_array(&b, BLOCKS * 128 * 4, &in), expected = 0;
        fixture_array(&b, BLOCKS * 4, &partial);
        fixture_array(&b, 4, &done);
        int *y = fixture_array(&b, 4, &out);
        for (int i = 0; i < BLOCKS * 128; i++)
                expected += x[i] = i % 91;
        fixture_kernel(&b, "last_block", BLOCKS, 128);
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, partial);
        fixture_param_u64(&b, done);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        CHECK_EQ(*y, expected);
        fixture_close(&b);
}

int main(void)
{
        return RUN(CASE(a_reduction_shuffles_within_warps), CASE(a_block_scans),
                   CASE(a_histogram_counts_with_shared_and_global_atomics),
                   CASE(votes_and_matches_agree), CASE(a_warp_reduces_in_one_instruction),
                   CASE(lanes_that_spin_do_not_starve_the_one_they_wait_for),
                   CASE(atomics_lose_nothing), CASE(a_clock_moves_on_with_each_read),
                   CASE(a_grid_meets_at_its_barrier), CASE(the_last_block_sees_what_all_wrote));
}
