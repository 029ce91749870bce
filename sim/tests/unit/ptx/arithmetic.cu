// Integer, float and double arithmetic and the conversions between them; results are compared with
// the same expressions in C.
typedef unsigned long long u64;
typedef long long s64;
typedef unsigned u32;

extern "C" __global__ void integers(const u32 *a, const u32 *b, u32 *out)
{
        u32 t = blockIdx.x * blockDim.x + threadIdx.x, x = a[t], y = b[t], *r = out + t * 32;
        int sx = (int)x, sy = (int)y;

        r[0] = x + y;
        r[1] = x * y;
        r[2] = __umulhi(x, y);
        r[3] = (u32)__mulhi(sx, sy);
        r[4] = x / (y | 1);
        r[5] = x % (y | 1);
        r[6] = (u32)(sx / (sy | 1));
        r[7] = (u32)(sx % (sy | 1));
        r[8] = (u32)__clz(sx);
        r[9] = (u32)__ffs(sx);
        r[10] = (u32)__popc(x);
        r[11] = __brev(x);
        r[12] = __byte_perm(x, y, 0x7315);
        r[13] = __funnelshift_l(x, y, y & 31);
        r[14] = __funnelshift_r(x, y, x & 31);
        r[15] = x << (y & 31);
        r[16] = x >> (y & 31);
        r[17] = (u32)(sx >> (y & 31));
        r[18] = (u32)min(sx, sy) ^ max(x, y);
        r[19] = __sad(sx, sy, 5u);
        r[20] = (u32)__mul24(sx, sy);
        r[21] = (x & y) ^ (~x | y);
        r[22] = (u32)__dp4a(sx, sy, 77);
        r[23] = __umul24(x, y);
        r[24] = (u32)abs(sx | 1);
        r[25] = (x >> 7) & 0x1ff;
        r[26] = (u32)(sx << 5 >> 20);
        r[27] = (u32)(unsigned char)x + (u32)(signed char)y;
        r[28] = (u32)(short)x * 3u;
        r[29] = __vadd4(x, y);
        r[30] = x > y ? 1u : 2u;
        r[31] = sx >= sy ? 3u : 4u;
}

extern "C" __global__ void longs(const u64 *a, const u64 *b, u64 *out)
{
        u32 t = blockIdx.x * blockDim.x + threadIdx.x;
        u64 x = a[t], y = b[t], *r = out + t * 16;
        s64 sx = (s64)x, sy = (s64)y;

        r[0] = x * y;
        r[1] = __umul64hi(x, y);
        r[2] = (u64)__mul64hi(sx, sy);
        r[3] = x / (y | 1);
        r[4] = (u64)(sx % (sy | 1));
        r[5] = (u64)__clzll(sx);
        r[6] = (u64)__popcll(x);
        r[7] = __brevll(x);
        r[8] = x << (y & 63);
        r[9] = (u64)(sx >> (y & 63));
        r[10] = (u64)min(sx, sy) + max(x, y);
        r[11] = (u64)(u32)x * (u32)y;
        r[12] = (u64)((s64)(int)x * (int)y);
        r[13] = (u64)((double)x * 0.5);
        r[14] = (u64)(s64)(float)sx;
        unsigned __int128 wide = (unsigned __int128)x * y + ((unsigned __int128)y << 64 | x);
        r[15] = (u64)(wide >> 64) ^ (u64)wide;
}

extern "C" __global__ void floats(const float *a, const float *b, float *out)
{
        u32 t = blockIdx.x * blockDim.x + threadIdx.x;
        float x = a[t], y = b[t], *r = out + t * 20;

        r[0] = x + y;
        r[1] = x * y;
        r[2] = x / y;
        r[3] = __fmaf_rn(x, y, 1.25f);
        r[4] = sqrtf(fabsf(x));
        r[5] = __fadd_rz(x, y);
        r[6] = __fmul_ru(x, y);
        r[7] = __fdiv_rd(x, y);
        r[8] = fminf(x, y);
        r[9] = fmaxf(x, y);
        r[10] = floorf(x);
        r[11] = ceilf(y);
        r[12] = truncf(x);
        r[13] = rintf(y);
        r[14] = __saturatef(x);
        r[15] = copysignf(x, y);
        r[16] = (float)__float2int_rn(x);
        r[17] = (float)__float2uint_rz(y);
        r[18] = __fsqrt_rd(fabsf(x));
        r[19] = (float)((double)x * (double)y);
}

extern "C" __global__ void doubles(const double *a, const double *b, double *out)
{
        u32 t = blockIdx.x * blockDim.x + threadIdx.x;
        double x = a[t], y = b[t], *r = out + t * 10;

        r[0] = x + y;
        r[1] = x * y;
        r[2] = x / y;
        r[3] = fma(x, y, -0.75);
        r[4] = sqrt(fabs(x));
        r[5] = __dadd_ru(x, y);
        r[6] = __dmul_rd(x, y);
        r[7] = floor(x) + rint(y);
        r[8] = (double)__double2int_rn(x) + (double)__double2ll_rz(y);
        r[9] = (double)(float)x;
}

extern "C" __global__ void functions(const double *a, double *out, const float *f, float *fout)
{
        u32 t = blockIdx.x * blockDim.x + threadIdx.x;
        double x = a[t], *r = out + t * 8;
        float y = f[t], *q = fout + t * 12;

        r[0] = sin(x);
        r[1] = cos(x);
        r[2] = exp(x * 0.1);
        r[3] = log(fabs(x) + 0.1);
        r[4] = pow(fabs(x), 1.7);
        r[5] = atan2(x, 2.0);
        r[6] = tanh(x);
        r[7] = cbrt(x);
        q[0] = sinf(y);
        q[1] = cosf(y);
        q[2] = expf(y * 0.1f);
        q[3] = logf(fabsf(y) + 0.1f);
        q[4] = powf(fabsf(y), 1.3f);
        q[5] = __sinf(y * 0.01f);
        q[6] = __expf(y * 0.1f);
        q[7] = rsqrtf(fabsf(y) + 0.5f);
        q[8] = tanhf(y);
        q[9] = erff(y);
        q[10] = __fdividef(y, 3.0f);
        q[11] = fmodf(y, 1.75f);
}

extern "C" __global__ void conversions(const double *in, long long *out)
{
        u32 t = blockIdx.x * blockDim.x + threadIdx.x;
        double x = in[t];
        float f = (float)x;
        long long *r = out + t * 10;

        r[0] = __double2int_rz(x);
        r[1] = __double2uint_rz(x);
        r[2] = __double2ll_rn(x);
        r[3] = (long long)__double2ull_rz(x);
        r[4] = __float2int_ru(f);
        r[5] = __float2int_rd(f);
        r[6] = (long long)__float2ull_rn(f);
        r[7] = (signed char)__float2int_rz(f);
        r[8] = (long long)__float_as_int(__ll2float_rz((long long)t * 0x123456789abLL));
        r[9] = (long long)__double_as_longlong(__ull2double_ru(0xfffffffffffff000ull + t * 37));
}
