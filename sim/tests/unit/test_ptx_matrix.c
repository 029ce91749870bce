/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the interpreter with the kernels of ptx/matrix.cu: matrix instructions. */
#include "ptx_fixture.h"

/* Small whole numbers as halves: exact in every step. */
static uint16_t half_of(int value)
{
        unsigned size = (unsigned)abs(value), exponent = 0;

        if (!size)
                return 0;
        while (size >> (exponent + 1))
                exponent++;
        return (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 |
                          ((size << (10 - exponent)) & 1023));
}

static int number(int n)
{
        return n * 37 % 19 - 9;
}

TEST(wmma_multiplies_halves)
{
        struct fixture b;
        uint64_t pa, pb, pc, pd;

        fixture_open(&b, "matrix.ptx");
        uint16_t *x = fixture_array(&b, 512, &pa), *y = fixture_array(&b, 512, &pb);
        float *c = fixture_array(&b, 1024, &pc), *d = fixture_array(&b, 1024, &pd);
        for (int n = 0; n < 256; n++) {
                x[n] = half_of(number(n));
                y[n] = half_of(number(n * 5 + 3));
                c[n] = (float)n;
        }
        fixture_kernel(&b, "wmma_half", 1, 32);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, pc);
        fixture_param_u64(&b, pd);
        fixture_done(&b);
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 16; j++) {
                        int sum = i * 16 + j;

                        for (int k = 0; k < 16; k++)
                                sum += number(i * 16 + k) * number((j * 16 + k) * 5 + 3);
                        CHECK(d[i * 16 + j] == (float)sum);
                }
        fixture_close(&b);
}

TEST(wmma_multiplies_bytes)
{
        struct fixture b;
        uint64_t pa, pb, pd;

        fixture_open(&b, "matrix.ptx");
        int8_t *x = fixture_array(&b, 128, &pa), *y = fixture_array(&b, 512, &pb);
        int32_t *d = fixture_array(&b, 1024, &pd);
        for (int n = 0; n < 512; n++) {
                if (n < 128)
                        x[n] = (int8_t)(number(n) * 13);
                y[n] = (int8_t)(number(n + 7) * 11);
        }
        fixture_kernel(&b, "wmma_bytes", 1, 32);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, pd);
        fixture_done(&b);
        for (int i = 0; i < 8; i++)
                for (int j = 0; j < 32; j++) {
                        int sum = 7;

                        for (int k = 0; k < 16; k++)
                                sum += x[i * 16 + k] * y[j * 16 + k];
                        CHECK_EQ(d[i * 32 + j], sum);
                }
        fixture_close(&b);
}

TEST(mma_takes_what_ldmatrix_loads)
{
        struct fixture b;
        uint64_t pa, pb, pd;

        fixture_open(&b, "matrix.ptx");
        uint16_t *x = fixture_array(&b, 512, &pa), *y = fixture_array(&b, 256, &pb);
        float *d = fixture_array(&b, 512, &pd);
        for (int n = 0; n < 256; n++) {
                x[n] = half_of(number(n));
                if (n < 128)
                        y[n] = half_of(number(n * 3 + 1));
        }
        fixture_kernel(&b, "mma_half", 1, 32);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, pd);
        fixture_done(&b);
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 8; j++) {
                        int sum = 1;

                        for (int k = 0; k < 16; k++)
                                sum += number(i * 16 + k) * number((k * 8 + j) * 3 + 1);
                        CHECK(d[i * 8 + j] == (float)sum);
                }
        fixture_close(&b);
}

TEST(mma_multiplies_bytes)
{
        struct fixture b;
        uint64_t pa, pb, pd;

        fixture_open(&b, "matrix.ptx");
        int8_t *x = fixture_array(&b, 512, &pa), *y = fixture_array(&b, 256, &pb);
        int32_t *d = fixture_array(&b, 512, &pd);
        for (int n = 0; n < 512; n++) {
                x[n] = (int8_t)(n * 7);
                if (n < 256)
                        y[n] = (int8_t)(n * 11 - 100);
        }
        fixture_kernel(&b, "mma_bytes", 1, 32);
        fixture_param_u64(&b, pa);
        fixture_param_u64(&b, pb);
        fixture_param_u64(&b, pd);
        fixture_done(&b);
        for (int i = 0; i < 16; i++)
                for (int j = 0; j < 8; j++) {
                        int sum = 0;

                        for (int k = 0; k < 32; k++)
                                sum += x[i * 32 + k] * y[j * 32 + k];
                        CHECK_EQ(d[i * 8 + j], sum);
                }
        fixture_close(&b);
}

int main(void)
{
        return RUN(CASE(wmma_multiplies_halves), CASE(wmma_multiplies_bytes),
                   CASE(mma_takes_what_ldmatrix_loads), CASE(mma_multiplies_bytes));
}
