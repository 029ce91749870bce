/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the interpreter with the kernels of ptx/arithmetic.cu: the same expressions in C. */
#include <fenv.h>
#include <math.h>

#include "ptx_fixture.h"

enum { N = 512 };

static uint64_t random_next(uint64_t *seed)
{
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        return *seed;
}

/* Numbers of all sizes: few bits as often as many. */
static uint64_t random_bits(uint64_t *seed)
{
        uint64_t value = random_next(seed);

        return value >> (random_next(seed) % 64);
}

static uint32_t reverse(uint32_t x)
{
        uint32_t r = 0;

        for (int k = 0; k < 32; k++)
                r |= (x >> k & 1) << (31 - k);
        return r;
}

static uint32_t permute(uint32_t x, uint32_t y, uint32_t s)
{
        uint64_t pool = (uint64_t)y << 32 | x;
        uint32_t r = 0;

        for (int k = 0; k < 4; k++)
                r |= (uint32_t)(pool >> 8 * (s >> 4 * k & 7) & 0xff) << 8 * k;
        return r;
}

static uint32_t dot4(uint32_t x, uint32_t y, int32_t c)
{
        for (int k = 0; k < 4; k++)
                c += (int8_t)(x >> 8 * k) * (int8_t)(y >> 8 * k);
        return (uint32_t)c;
}

static uint32_t add4(uint32_t x, uint32_t y)
{
        uint32_t r = 0;

        for (int k = 0; k < 32; k += 8)
                r |= (((x >> k) + (y >> k)) & 0xff) << k;
        return r;
}

static int32_t low24(uint32_t x)
{
        return (int32_t)(x << 8) >> 8;
}

static void integers_expect(uint32_t x, uint32_t y, uint32_t *r)
{
        int32_t sx = (int32_t)x, sy = (int32_t)y, so = sy | 1;
        uint64_t both = (uint64_t)y << 32 | x;
        bool overflows = sx == INT32_MIN && so == -1;

        r[0] = x + y;
        r[1] = x * y;
        r[2] = (uint32_t)((uint64_t)x * y >> 32);
        r[3] = (uint32_t)((int64_t)sx * sy >> 32);
        r[4] = x / (y | 1);
        r[5] = x % (y | 1);
        r[6] = overflows ? x : (uint32_t)(sx / so);
        r[7] = overflows ? 0 : (uint32_t)(sx % so);
        r[8] = x ? (uint32_t)__builtin_clz(x) : 32;
        r[9] = (uint32_t)__builtin_ffs(sx);
        r[10] = (uint32_t)__builtin_popcount(x);
        r[11] = reverse(x);
        r[12] = permute(x, y, 0x7315);
        r[13] = (uint32_t)(both << (y & 31) >> 32);
        r[14] = (uint32_t)(both >> (x & 31));
        r[15] = x << (y & 31);
        r[16] = x >> (y & 31);
        r[17] = (uint32_t)(sx >> (y & 31));
        r[18] = (uint32_t)(sx < sy ? sx : sy) ^ (x > y ? x : y);
        r[19] = 5u + (sx > sy ? x - y : y - x);
        r[20] = (uint32_t)((int64_t)low24(x) * low24(y));
        r[21] = (x & y) ^ (~x | y);
        r[22] = dot4(x, y, 77);
        r[23] = (uint32_t)((uint64_t)(x & 0xffffff) * (y & 0xffffff));
        r[24] = sx < 0 ? 0 - (x | 1) : x | 1;
        r[25] = x >> 7 & 0x1ff;
        r[26] = (uint32_t)((int32_t)(x << 5) >> 20);
        r[27] = (uint32_t)(uint8_t)x + (uint32_t)(int8_t)y;
        r[28] = (uint32_t)(int16_t)x * 3u;
        r[29] = add4(x, y);
        r[30] = x > y ? 1 : 2;
        r[31] = sx >= sy ? 3 : 4;
}

TEST(words_behave_as_in_c)
{
        struct fixture b;
        uint64_t pa, pb, po, seed = 88172645463325252u;

        fixture_open(&b, "arithmetic.ptx");
        uint32_t *x = fixture_array(&b, N * 4, &pa), *y = fixture_array(&b, N * 4, &pb);
        uint32_t *out = fixture_array(&b, N * 32 * 4, &po);
        for (int i = 0; i < N; i++) {
                x[i] = (uint32_t)random_bits(&seed);
                y[i] = (uint32_t)random_bits(&seed);
        }
        x[0] = 0x80000000;
        y[0] = 0xffffffff;
        fixture_kernel(&b, "integers", N / 128, 128);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, po);
        fixture_done(&b);
        for (int i = 0; i < N; i++) {
                uint32_t expected[32];

                integers_expect(x[i], y[i], expected);
                for (int k = 0; k < 32; k++)
                        if (out[32 * i + k] != expected[k])
                                fail_msg("expression %d of 0x%x, 0x%x: 0x%x, not 0x%x", k, x[i],
                                         y[i], out[32 * i + k], expected[k]);
        }
        fixture_close(&b);
}

static void longs_expect(uint64_t x, uint64_t y, uint64_t *r)
{
        int64_t sx = (int64_t)x, sy = (int64_t)y;
        unsigned __int128 wide = (unsigned __int128)x * y + ((unsigned __int128)y << 64 | x);

        r[0] = x * y;
        r[1] = (uint64_t)((unsigned __int128)x * y >> 64);
        r[2] = (uint64_t)((__int128)sx * sy >> 64);
        r[3] = x / (y | 1);
        r[4] = (sy | 1) == -1 ? 0 : (uint64_t)(sx % (sy | 1));
        r[5] = x ? (uint64_t)__builtin_clzll(x) : 64;
        r[6] = (uint64_t)__builtin_popcountll(x);
        r[7] = (uint64_t)reverse((uint32_t)x) << 32 | reverse((uint32_t)(x >> 32));
        r[8] = x << (y & 63);
        r[9] = (uint64_t)(sx >> (y & 63));
        r[10] = (uint64_t)(sx < sy ? sx : sy) + (x > y ? x : y);
        r[11] = (uint64_t)(uint32_t)x * (uint32_t)y;
        r[12] = (uint64_t)((int64_t)(int32_t)x * (int32_t)y);
        r[13] = (uint64_t)((double)x * 0.5);
        r[14] = (float)sx >= 9.2233720368547758e18f ? INT64_MAX : (uint64_t)(int64_t)(float)sx;
        r[15] = (uint64_t)(wide >> 64) ^ (uint64_t)wide;
}

TEST(long_words_behave_as_in_c)
{
        struct fixture b;
        uint64_t pa, pb, po, seed = 362436069362436069u;

        fixture_open(&b, "arithmetic.ptx");
        uint64_t *x = fixture_array(&b, N * 8, &pa), *y = fixture_array(&b, N * 8, &pb);
        uint64_t *out = fixture_array(&b, N * 16 * 8, &po);
        for (int i = 0; i < N; i++) {
                x[i] = random_bits(&seed);
                y[i] = random_bits(&seed);
        }
        fixture_kernel(&b, "longs", N / 128, 128);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, po);
        fixture_done(&b);
        for (int i = 0; i < N; i++) {
                uint64_t expected[16];

                longs_expect(x[i], y[i], expected);
                for (int k = 0; k < 16; k++)
                        if (out[16 * i + k] != expected[k])
                                fail_msg("expression %d of 0x%llx, 0x%llx: 0x%llx, not 0x%llx", k,
                                         (long long)x[i], (long long)y[i],
                                         (long long)out[16 * i + k], (long long)expected[k]);
        }
        fixture_close(&b);
}

/* The barriers keep the compiler from computing before the rounding is set, or after. */
#define HELD(value) __asm__ volatile("" : "+x"(value) : : "memory")

static float rounded(int mode, char op, float x, float y)
{
        float r;

        fesetround(mode);
        HELD(x);
        HELD(y);
        r = op == '+' ? x + y : op == '*' ? x * y : op == '/' ? x / y : sqrtf(x);
        HELD(r);
        fesetround(FE_TONEAREST);
        return r;
}

static void floats_expect(float x, float y, float *r)
{
        r[0] = x + y;
        r[1] = x * y;
        r[2] = x / y;
        r[3] = fmaf(x, y, 1.25f);
        r[4] = sqrtf(fabsf(x));
        r[5] = rounded(FE_TOWARDZERO, '+', x, y);
        r[6] = rounded(FE_UPWARD, '*', x, y);
        r[7] = rounded(FE_DOWNWARD, '/', x, y);
        r[8] = fminf(x, y);
        r[9] = fmaxf(x, y);
        r[10] = floorf(x);
        r[11] = ceilf(y);
        r[12] = truncf(x);
        r[13] = rintf(y);
        r[14] = x > 0 ? (x < 1 ? x : 1) : 0;
        r[15] = copysignf(x, y);
        r[16] = x >= 2147483648.0f    ? 2147483648.0f
                : x <= -2147483648.0f ? -2147483648.0f
                                      : rintf(x) + 0.0f;
        r[17] = y >= 4294967296.0f ? 4294967296.0f : y <= 0 ? 0.0f : truncf(y);
        r[18] = rounded(FE_DOWNWARD, 'q', fabsf(x), 0);
        r[19] = (float)((double)x * (double)y);
}

TEST(floats_are_rounded_as_asked)
{
        struct fixture b;
        uint64_t pa, pb, po, seed = 521288629521288629u;

        fixture_open(&b, "arithmetic.ptx");
        float *x = fixture_array(&b, N * 4, &pa), *y = fixture_array(&b, N * 4, &pb);
        float *out = fixture_array(&b, N * 20 * 4, &po);
        for (int i = 0; i < N; i++) {
                x[i] = (float)((int64_t)random_next(&seed) >> 20) *
                       ldexpf(1, (int)(random_next(&seed) % 90) - 70);
                y[i] = (float)((int64_t)random_next(&seed) >> 20) *
                       ldexpf(1, (int)(random_next(&seed) % 90) - 70);
        }
        x[0] = 2.5f;
        y[0] = -3.5f;
        fixture_kernel(&b, "floats", N / 64, 64);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, po);
        fixture_done(&b);
        for (int i = 0; i < N; i++) {
                float expected[20];

                floats_expect(x[i], y[i], expected);
                for (int k = 0; k < 20; k++)
                        if (memcmp(&out[20 * i + k], &expected[k], 4) != 0)
                                fail_msg("expression %d of %a, %a: %a, not %a", k, (double)x[i],
                                         (double)y[i], (double)out[20 * i + k],
                                         (double)expected[k]);
        }
        fixture_close(&b);
}

static double rounded_wide(int mode, char op, double x, double y)
{
        double r;

        fesetround(mode);
        HELD(x);
        HELD(y);
        r = op == '+' ? x + y : x * y;
        HELD(r);
        fesetround(FE_TONEAREST);
        return r;
}

TEST(doubles_are_rounded_as_asked)
{
        struct fixture b;
        uint64_t pa, pb, po, seed = 88675123886751235u;

        fixture_open(&b, "arithmetic.ptx");
        double *x = fixture_array(&b, N * 8, &pa), *y = fixture_array(&b, N * 8, &pb);
        double *out = fixture_array(&b, N * 10 * 8, &po);
        for (int i = 0; i < N; i++) {
                x[i] = (double)(int64_t)random_next(&seed) *
                       ldexp(1, -(int)(random_next(&seed) % 80));
                y[i] = (double)(int64_t)random_next(&seed) *
                       ldexp(1, -(int)(random_next(&seed) % 80));
        }
        fixture_kernel(&b, "doubles", N / 64, 64);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, po);
        fixture_done(&b);
        for (int i = 0; i < N; i++) {
                double whole = x[i] >= INT32_MAX   ? INT32_MAX
                               : x[i] <= INT32_MIN ? INT32_MIN
                                                   : rint(x[i]);
                double expected[10] = {
                        x[i] + y[i],
                        x[i] * y[i],
                        x[i] / y[i],
                        fma(x[i], y[i], -0.75),
                        sqrt(fabs(x[i])),
                        rounded_wide(FE_UPWARD, '+', x[i], y[i]),
                        rounded_wide(FE_DOWNWARD, '*', x[i], y[i]),
                        floor(x[i]) + rint(y[i]),
                        whole + (double)(int64_t)y[i],
                        (double)(float)x[i],
                };

                for (int k = 0; k < 10; k++)
                        if (memcmp(&out[10 * i + k], &expected[k], 8) != 0)
                                fail_msg("expression %d of %a, %a: %a, not %a", k, x[i], y[i],
                                         out[10 * i + k], expected[k]);
        }
        fixture_close(&b);
}

static void near_check(int k, double x, double got, double expected, double tolerance)
{
        if (got != expected && !(fabs(got - expected) <= tolerance * (fabs(expected) + 1e-3)))
                fail_msg("function %d of %.17g: %.17g, not %.17g", k, x, got, expected);
}

TEST(the_compilers_mathematics_comes_out)
{
        struct fixture b;
        uint64_t pa, po, pf, pq;

        fixture_open(&b, "arithmetic.ptx");
        double *x = fixture_array(&b, N * 8, &pa), *out = fixture_array(&b, N * 8 * 8, &po);
        float *y = fixture_array(&b, N * 4, &pf), *q = fixture_array(&b, N * 12 * 4, &pq);
        for (int i = 0; i < N; i++) {
                x[i] = (i - N / 2) * 0.37 + (i == 3 ? 1e6 : 0);
                y[i] = (float)(i - N / 2) * 0.11f + (i == 5 ? 2e5f : 0);
        }
        fixture_kernel(&b, "functions", N / 64, 64);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, po);
        fixture_param_u64(&b, pf);
        fixture_param_u64(&b, pq);
        fixture_done(&b);
        for (int i = 0; i < N; i++) {
                double v = x[i], w = (double)y[i];
                double d[8] = {
                        sin(v),        cos(v),  exp(v * 0.1), log(fabs(v) + 0.1), pow(fabs(v), 1.7),
                        atan2(v, 2.0), tanh(v), cbrt(v)
                };
                double f[12] = { sin(w),
                                 cos(w),
                                 exp(w * 0.1),
                                 log(fabs(w) + 0.1),
                                 pow(fabs(w), 1.3),
                                 sin(w * 0.01),
                                 exp(w * 0.1),
                                 1 / sqrt(fabs(w) + 0.5),
                                 tanh(w),
                                 erf(w),
                                 w / 3,
                                 fmod(w, 1.75) };

                for (int k = 0; k < 8; k++)
                        near_check(k, v, out[8 * i + k], d[k], 1e-14);
                for (int k = 0; k < 12 && i != 5; k++)
                        near_check(100 + k, w, (double)q[12 * i + k], f[k],
                                   k == 2 || k == 6 || k == 4 ? 1e-4 : 2e-6);
                near_check(100, w, (double)q[12 * i], f[0], 2e-4);
        }
        fixture_close(&b);
}

static const double conversion_inputs[] = {
        0.0,
        1.5,
        -1.5,
        2.5,
        1e10,
        -1e10,
        3e9,
        1e20,
        -1e20,
        127.9,
        -129.2,
        4294967295.5,
        (double)NAN,
        (double)INFINITY,
        -(double)INFINITY,
        0.49999999999999994,
};

TEST(conversions_clamp)
{
        struct fixture b;
        uint64_t pi, po;

        fixture_open(&b, "arithmetic.ptx");
        double *x = fixture_array(&b, sizeof conversion_inputs, &pi);
        int64_t *out = fixture_array(&b, 16 * 10 * 8, &po);
        memcpy(x, conversion_inputs, sizeof conversion_inputs);
        fixture_kernel(&b, "conversions", 1, 16);
        fixture_param_u64(&b, pi);
        fixture_param_u64(&b, po);
        fixture_done(&b);
        /* 1.5 */
        CHECK_EQ(out[10], 1);
        CHECK_EQ(out[12], 2);
        CHECK_EQ(out[14], 2);
        CHECK_EQ(out[15], 1);
        /* -1.5 */
        CHECK_EQ(out[20], -1);
        CHECK_EQ(out[21], 0);
        CHECK_EQ(out[22], -2);
        CHECK_EQ(out[24], -1);
        CHECK_EQ(out[25], -2);
        CHECK_EQ(out[27], -1);
        CHECK_EQ(out[32], 2); /* 2.5 to even */
        CHECK_EQ(out[40], INT32_MAX);
        CHECK_EQ(out[41], UINT32_MAX);
        CHECK_EQ(out[50], INT32_MIN);
        CHECK_EQ(out[61], 3000000000u);
        CHECK(out[72] == INT64_MAX);
        CHECK((uint64_t)out[73] == UINT64_MAX);
        CHECK(out[82] == INT64_MIN);
        CHECK_EQ(out[83], 0);
        CHECK_EQ(out[111], UINT32_MAX);
        CHECK_EQ(out[120], 0); /* a NaN */
        CHECK(out[122] == INT64_MIN);
        CHECK_EQ(out[130], INT32_MAX);
        CHECK_EQ(out[140], INT32_MIN);
        CHECK_EQ(out[152], 0);
        for (int t = 0; t < 16; t++) {
                float toward_zero = (float)((int64_t)t * 0x123456789abLL);
                uint32_t bits;
                double up = 18446744073709547520.0;

                if ((int64_t)toward_zero > (int64_t)t * 0x123456789abLL)
                        toward_zero = nextafterf(toward_zero, 0);
                memcpy(&bits, &toward_zero, sizeof bits);
                CHECK_EQ(out[10 * t + 8], bits);
                memcpy(&up, &out[10 * t + 9], sizeof up);
                CHECK(up == 18446744073709547520.0 || up == 18446744073709549568.0);
                CHECK((up == 18446744073709547520.0) == (t == 0));
        }
        fixture_close(&b);
}

int main(void)
{
        return RUN(CASE(words_behave_as_in_c), CASE(long_words_behave_as_in_c),
                   CASE(floats_are_rounded_as_asked), CASE(doubles_are_rounded_as_asked),
                   CASE(the_compilers_mathematics_comes_out), CASE(conversions_clamp));
}
