/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the interpreter with the kernels of ptx/language.cu: calls, variables, output. */
#include <math.h>

#include "ptx_fixture.h"

static int fibonacci(int n)
{
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

TEST(a_function_may_call_itself)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "language.ptx");
        int *y = fixture_array(&b, 64 * 4, &out);
        fixture_kernel(&b, "recurse", 1, 64);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 64; t++)
                CHECK_EQ(y[t], fibonacci(t % 15));
        fixture_close(&b);
}

TEST(functions_are_called_through_a_table)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "language.ptx");
        int *y = fixture_array(&b, 64 * 4, &out);
        fixture_kernel(&b, "indirect", 1, 64);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 64; t++) {
                int x = t + 1;

                CHECK_EQ(y[t], t % 3 == 0 ? 2 * x : t % 3 == 1 ? x * x : -x);
        }
        fixture_close(&b);
}

struct shape {
        int a;
        double b;
        short c[5];
        char d;
};

TEST(structures_are_passed_by_value)
{
        struct fixture b;
        uint64_t out;
        struct shape s = { 5, 1.5, { 1, 2, 3, 4, 5 }, 'a' };

        fixture_open(&b, "language.ptx");
        struct shape *y = fixture_array(&b, 40 * sizeof *y, &out);
        fixture_kernel(&b, "structures", 1, 40);
        fixture_param(&b, &s, sizeof s);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 40; t++) {
                CHECK_EQ(y[t].a, 5 + t);
                CHECK(y[t].b == 1.5 * t);
                for (int k = 0; k < 5; k++)
                        CHECK_EQ(y[t].c[k], s.c[k] + t * k);
                CHECK_EQ(y[t].d, 'z');
        }
        fixture_close(&b);
}

TEST(variables_start_with_their_values)
{
        struct fixture b;
        uint64_t out;
        static const int numbers[] = { 10, 20, 30, 40, 50, 60 };

        fixture_open(&b, "language.ptx");
        int *y = fixture_array(&b, 32 * 4, &out);
        fixture_kernel(&b, "variables", 1, 32);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 32; t++)
                CHECK_EQ(y[t], ((t & 7) + 1) * numbers[t % 6] + numbers[2 + (t & 1)] + 1);
        fixture_done(&b);
        CHECK_EQ(y[5], 6 * 61 + 40 + 1);
        fixture_close(&b);
}

TEST(each_thread_has_its_own_array)
{
        struct fixture b;
        uint64_t order, out;

        fixture_open(&b, "language.ptx");
        int *x = fixture_array(&b, 32 * 4, &order), *y = fixture_array(&b, 70 * 4, &out);
        for (int k = 0; k < 32; k++)
                x[k] = (k * 13 + 5) & 31;
        fixture_kernel(&b, "local_array", 1, 70);
        CHECK_EQ(ptx_kernel_footprint(b.launch.kernel)->local_bytes, 128);
        fixture_param_u64(&b, order);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 70; t++) {
                int stack[32];
                unsigned sum = 0;

                for (int k = 0; k < 32; k++)
                        stack[x[k]] = k * (t + 1);
                for (int k = 0; k < 32; k++)
                        sum = sum * 3 + (unsigned)stack[(k * 7 + t) & 31];
                CHECK_EQ(y[t], (int)sum);
        }
        fixture_close(&b);
}

TEST(a_switch_takes_each_lane_its_way)
{
        struct fixture b;
        uint64_t in, out;

        fixture_open(&b, "language.ptx");
        int *x = fixture_array(&b, 64 * 4, &in), *y = fixture_array(&b, 64 * 4, &out);
        for (int t = 0; t < 64; t++)
                x[t] = t % 10;
        fixture_kernel(&b, "choose", 1, 64);
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 64; t++) {
                unsigned reversed = 0;

                for (int k = 0; k < 32; k++)
                        reversed |= ((unsigned)t >> k & 1) << (31 - k);
                const int expected[] = { 7,      100 + t, __builtin_popcount((unsigned)t),
                                         -3,     t << 3,  (int)reversed,
                                         t % 11, 12345,   99,
                                         99 };
                CHECK_EQ(y[t], expected[t % 10]);
        }
        fixture_close(&b);
}

TEST(printf_prints_in_the_order_of_the_lanes)
{
        struct fixture b;

        fixture_open(&b, "language.ptx");
        fixture_kernel(&b, "say", 1, 2);
        fixture_param_s32(&b, 4);
        fixture_done(&b);
        b.printed[b.printed_length] = 0;
        CHECK_STR(b.printed, "thread 0 of 2: many  6.00 q 123456789abc %\n"
                             "thread 1 of 2: many  6.00 q 123456789abc %\n");
        fixture_close(&b);
}

TEST(a_trap_ends_the_launch)
{
        struct fixture b;
        uint64_t in;

        fixture_open(&b, "language.ptx");
        int *x = fixture_array(&b, 32 * 4, &in);
        fixture_kernel(&b, "must_be_small", 1, 32);
        fixture_param_u64(&b, in);
        fixture_done(&b);
        x[9] = 101;
        CHECK_EQ(fixture_run(&b), PTX_TRAP);
        fixture_close(&b);
}

TEST(threads_take_memory_from_the_heap)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "language.ptx");
        int *y = fixture_array(&b, 50 * 4, &out);
        fixture_kernel(&b, "heap", 1, 50);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 50; t++)
                CHECK_EQ(y[t], 120 * t);
        b.memory.heap_alloc = NULL;
        fixture_done(&b);
        CHECK_EQ(y[7], -1);
        fixture_close(&b);
}

static float half_float(uint16_t h)
{
        float value = (h & 0x7c00) ? ldexpf((float)((h & 1023) + 1024), (h >> 10 & 31) - 25)
                                   : ldexpf((float)(h & 1023), -24);

        return h & 0x8000 ? -value : value;
}

TEST(half_floats_are_rounded_once)
{
        struct fixture b;
        uint64_t p[7];

        fixture_open(&b, "language.ptx");
        uint16_t *x = fixture_array(&b, 64, &p[0]), *y = fixture_array(&b, 64, &p[1]);
        uint16_t *sum = fixture_array(&b, 64, &p[2]), *fused = fixture_array(&b, 64, &p[3]);
        uint16_t *pair = fixture_array(&b, 128, &p[4]);
        float *wide = fixture_array(&b, 128, &p[5]);
        uint16_t *brain = fixture_array(&b, 64, &p[6]);
        for (int t = 0; t < 32; t++) {
                x[t] = (uint16_t)(0x3000 + t * 211);
                y[t] = (uint16_t)(0xb800 + t * 97);
        }
        fixture_kernel(&b, "halves", 1, 32);
        for (int n = 0; n < 7; n++)
                fixture_param_u64(&b, p[n]);
        fixture_done(&b);
        for (int t = 0; t < 32; t++) {
                float a = half_float(x[t]), c = half_float(y[t]);
                uint32_t bits;
                float product = a * 3.14159f;

                /* Half an ulp of eleven digits is the most a rounded result may be off. */
                CHECK(fabsf(half_float(sum[t]) - (a + c)) <= fabsf(a + c) / 2048);
                CHECK(fabsf(half_float(fused[t]) - (a * c + a)) <= fabsf(a * c + a) / 2048 + 1e-7f);
                CHECK(fabsf(half_float(pair[2 * t]) - a * 1.5f) <= fabsf(a) * 1.5f / 2048);
                CHECK(half_float(pair[2 * t + 1]) == c * -2.0f);
                CHECK(wide[t] == a + (a < c ? 1.0f : 0.0f));
                memcpy(&bits, &product, sizeof bits);
                bits += 0x7fff + (bits >> 16 & 1);
                CHECK_EQ(brain[t], bits >> 16);
        }
        fixture_close(&b);
}

TEST(vectors_are_loaded_and_stored_whole)
{
        struct fixture b;
        uint64_t in, out, narrow, wide;

        fixture_open(&b, "language.ptx");
        float *x = fixture_array(&b, 33 * 16, &in), *y = fixture_array(&b, 33 * 16, &out);
        short *n = fixture_array(&b, 33 * 4, &narrow);
        int *w = fixture_array(&b, 33 * 8, &wide);
        for (int i = 0; i < 33 * 4; i++)
                x[i] = (float)i;
        for (int i = 0; i < 33 * 2; i++)
                n[i] = (short)(i * 991 - 20000);
        fixture_kernel(&b, "vectors", 1, 33);
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, out);
        fixture_param_u64(&b, narrow);
        fixture_param_u64(&b, wide);
        fixture_done(&b);
        for (int t = 0; t < 33; t++) {
                for (int k = 0; k < 4; k++)
                        CHECK(y[4 * t + k] == x[4 * t + 3 - k]);
                CHECK_EQ(w[2 * t], n[2 * t] - n[2 * t + 1]);
                CHECK_EQ(w[2 * t + 1], n[2 * t] * n[2 * t + 1]);
        }
        fixture_close(&b);
}

int main(void)
{
        return RUN(CASE(a_function_may_call_itself), CASE(functions_are_called_through_a_table),
                   CASE(structures_are_passed_by_value), CASE(variables_start_with_their_values),
                   CASE(each_thread_has_its_own_array), CASE(a_switch_takes_each_lane_its_way),
                   CASE(printf_prints_in_the_order_of_the_lanes), CASE(a_trap_ends_the_launch),
                   CASE(threads_take_memory_from_the_heap), CASE(half_floats_are_rounded_once),
                   CASE(vectors_are_loaded_and_stored_whole));
}
