/* Tests of the interpreter with the kernels of ptx/language.cu: calls, variables, output. */
#include <math.h>

#include "ptx_bench.h"

static int fibonacci(int n)
{
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

TEST(a_function_may_call_itself)
{
        struct bench b;
        uint64_t out;

        bench_open(&b, "language.ptx");
        int *y = bench_array(&b, 64 * 4, &out);
        bench_kernel(&b, "recurse", 1, 64);
        bench_param_u64(&b, out);
        bench_done(&b);
        for (int t = 0; t < 64; t++)
                CHECK_EQ(y[t], fibonacci(t % 15));
        bench_close(&b);
}

TEST(functions_are_called_through_a_table)
{
        struct bench b;
        uint64_t out;

        bench_open(&b, "language.ptx");
        int *y = bench_array(&b, 64 * 4, &out);
        bench_kernel(&b, "indirect", 1, 64);
        bench_param_u64(&b, out);
        bench_done(&b);
        for (int t = 0; t < 64; t++) {
                int x = t + 1;

                CHECK_EQ(y[t], t % 3 == 0 ? 2 * x : t % 3 == 1 ? x * x : -x);
        }
        bench_close(&b);
}

struct shape {
        int a;
        double b;
        short c[5];
        char d;
};

TEST(structures_are_passed_by_value)
{
        struct bench b;
        uint64_t out;
        struct shape s = { 5, 1.5, { 1, 2, 3, 4, 5 }, 'a' };

        bench_open(&b, "language.ptx");
        struct shape *y = bench_array(&b, 40 * sizeof *y, &out);
        bench_kernel(&b, "structures", 1, 40);
        bench_param(&b, &s, sizeof s);
        bench_param_u64(&b, out);
        bench_done(&b);
        for (int t = 0; t < 40; t++) {
                CHECK_EQ(y[t].a, 5 + t);
                CHECK(y[t].b == 1.5 * t);
                for (int k = 0; k < 5; k++)
                        CHECK_EQ(y[t].c[k], s.c[k] + t * k);
                CHECK_EQ(y[t].d, 'z');
        }
        bench_close(&b);
}

TEST(variables_start_with_their_values)
{
        struct bench b;
        uint64_t out;
        static const int numbers[] = { 10, 20, 30, 40, 50, 60 };

        bench_open(&b, "language.ptx");
        int *y = bench_array(&b, 32 * 4, &out);
        bench_kernel(&b, "variables", 1, 32);
        bench_param_u64(&b, out);
        bench_done(&b);
        for (int t = 0; t < 32; t++)
                CHECK_EQ(y[t], ((t & 7) + 1) * numbers[t % 6] + numbers[2 + (t & 1)] + 1);
        bench_done(&b);
        CHECK_EQ(y[5], 6 * 61 + 40 + 1);
        bench_close(&b);
}

TEST(each_thread_has_its_own_array)
{
        struct bench b;
        uint64_t order, out;

        bench_open(&b, "language.ptx");
        int *x = bench_array(&b, 32 * 4, &order), *y = bench_array(&b, 70 * 4, &out);
        for (int k = 0; k < 32; k++)
                x[k] = (k * 13 + 5) & 31;
        bench_kernel(&b, "local_array", 1, 70);
        CHECK_EQ(ptx_kernel_footprint(b.launch.kernel)->local_bytes, 128);
        bench_param_u64(&b, order);
        bench_param_u64(&b, out);
        bench_done(&b);
        for (int t = 0; t < 70; t++) {
                int stack[32];
                unsigned sum = 0;

                for (int k = 0; k < 32; k++)
                        stack[x[k]] = k * (t + 1);
                for (int k = 0; k < 32; k++)
                        sum = sum * 3 + (unsigned)stack[(k * 7 + t) & 31];
                CHECK_EQ(y[t], (int)sum);
        }
        bench_close(&b);
}

TEST(a_switch_takes_each_lane_its_way)
{
        struct bench b;
        uint64_t in, out;

        bench_open(&b, "language.ptx");
        int *x = bench_array(&b, 64 * 4, &in), *y = bench_array(&b, 64 * 4, &out);
        for (int t = 0; t < 64; t++)
                x[t] = t % 10;
        bench_kernel(&b, "choose", 1, 64);
        bench_param_u64(&b, in);
        bench_param_u64(&b, out);
        bench_done(&b);
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
        bench_close(&b);
}

TEST(printf_prints_in_the_order_of_the_lanes)
{
        struct bench b;

        bench_open(&b, "language.ptx");
        bench_kernel(&b, "say", 1, 2);
        bench_param_s32(&b, 4);
        bench_done(&b);
        b.printed[b.printed_length] = 0;
        CHECK_STR(b.printed, "thread 0 of 2: many  6.00 q 123456789abc %\n"
                             "thread 1 of 2: many  6.00 q 123456789abc %\n");
        bench_close(&b);
}

TEST(a_trap_ends_the_launch)
{
        struct bench b;
        uint64_t in;

        bench_open(&b, "language.ptx");
        int *x = bench_array(&b, 32 * 4, &in);
        bench_kernel(&b, "must_be_small", 1, 32);
        bench_param_u64(&b, in);
        bench_done(&b);
        x[9] = 101;
        CHECK_EQ(bench_run(&b), PTX_TRAP);
        bench_close(&b);
}

TEST(threads_take_memory_from_the_heap)
{
        struct bench b;
        uint64_t out;

        bench_open(&b, "language.ptx");
        int *y = bench_array(&b, 50 * 4, &out);
        bench_kernel(&b, "heap", 1, 50);
        bench_param_u64(&b, out);
        bench_done(&b);
        for (int t = 0; t < 50; t++)
                CHECK_EQ(y[t], 120 * t);
        b.memory.heap_alloc = NULL;
        bench_done(&b);
        CHECK_EQ(y[7], -1);
        bench_close(&b);
}

static float half_float(uint16_t h)
{
        float value = (h & 0x7c00) ? ldexpf((float)((h & 1023) + 1024), (h >> 10 & 31) - 25)
                                   : ldexpf((float)(h & 1023), -24);

        return h & 0x8000 ? -value : value;
}

TEST(half_floats_are_rounded_once)
{
        struct bench b;
        uint64_t p[7];

        bench_open(&b, "language.ptx");
        uint16_t *x = bench_array(&b, 64, &p[0]), *y = bench_array(&b, 64, &p[1]);
        uint16_t *sum = bench_array(&b, 64, &p[2]), *fused = bench_array(&b, 64, &p[3]);
        uint16_t *pair = bench_array(&b, 128, &p[4]);
        float *wide = bench_array(&b, 128, &p[5]);
        uint16_t *brain = bench_array(&b, 64, &p[6]);
        for (int t = 0; t < 32; t++) {
                x[t] = (uint16_t)(0x3000 + t * 211);
                y[t] = (uint16_t)(0xb800 + t * 97);
        }
        bench_kernel(&b, "halves", 1, 32);
        for (int n = 0; n < 7; n++)
                bench_param_u64(&b, p[n]);
        bench_done(&b);
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
        bench_close(&b);
}

TEST(vectors_are_loaded_and_stored_whole)
{
        struct bench b;
        uint64_t in, out, narrow, wide;

        bench_open(&b, "language.ptx");
        float *x = bench_array(&b, 33 * 16, &in), *y = bench_array(&b, 33 * 16, &out);
        short *n = bench_array(&b, 33 * 4, &narrow);
        int *w = bench_array(&b, 33 * 8, &wide);
        for (int i = 0; i < 33 * 4; i++)
                x[i] = (float)i;
        for (int i = 0; i < 33 * 2; i++)
                n[i] = (short)(i * 991 - 20000);
        bench_kernel(&b, "vectors", 1, 33);
        bench_param_u64(&b, in);
        bench_param_u64(&b, out);
        bench_param_u64(&b, narrow);
        bench_param_u64(&b, wide);
        bench_done(&b);
        for (int t = 0; t < 33; t++) {
                for (int k = 0; k < 4; k++)
                        CHECK(y[4 * t + k] == x[4 * t + 3 - k]);
                CHECK_EQ(w[2 * t], n[2 * t] - n[2 * t + 1]);
                CHECK_EQ(w[2 * t + 1], n[2 * t] * n[2 * t + 1]);
        }
        bench_close(&b);
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
