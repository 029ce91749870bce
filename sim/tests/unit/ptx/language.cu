// The language: calls, recursion, function pointers, local arrays, constants, structures, printf.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__constant__ int weights[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
__device__ int numbers[6] = { 10, 20, 30, 40, 50, 60 };
__device__ int *pointer = &numbers[2];
__device__ double ratio = 0.125;

struct shape {
        int a;
        double b;
        short c[5];
        char d;
};

__device__ __noinline__ int fibonacci(int n)
{
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ __noinline__ int minus(int x) { return -x; }
typedef int (*unary)(int);
__device__ unary table[3] = { twice, square, minus };

__device__ __noinline__ shape change(shape s, int by)
{
        s.a += by;
        s.b *= by;
        for (int k = 0; k < 5; k++)
                s.c[k] = (short)(s.c[k] + by * k);
        s.d = 'z';
        return s;
}

extern "C" __global__ void recurse(int *out)
{
        out[threadIdx.x] = fibonacci(threadIdx.x % 15);
}

extern "C" __global__ void indirect(int *out)
{
        out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x + 1);
}

extern "C" __global__ void structures(shape s, shape *out)
{
        out[threadIdx.x] = change(s, threadIdx.x);
}

extern "C" __global__ void variables(int *out)
{
        int t = threadIdx.x;

        out[t] = weights[t & 7] * numbers[t % 6] + pointer[t & 1] + (int)(ratio * 8);
        if (t == 0)
                numbers[5] = 61;
}

extern "C" __global__ void local_array(const int *order, int *out)
{
        int stack[32];

        for (int k = 0; k < 32; k++)
                stack[order[k]] = k * (threadIdx.x + 1);
        int sum = 0;
        for (int k = 0; k < 32; k++)
                sum = sum * 3 + stack[(k * 7 + threadIdx.x) & 31];
        out[threadIdx.x] = sum;
}

extern "C" __global__ void choose(const int *in, int *out)
{
        int x = in[threadIdx.x], y;

        switch (x) {
        case 0: y = 7; break;
        case 1: y = x * 100 + (int)threadIdx.x; break;
        case 2: y = __popc(threadIdx.x); break;
        case 3: y = -x; break;
        case 4: y = (int)threadIdx.x << 3; break;
        case 5: y = __brev(threadIdx.x); break;
        case 6: y = (int)threadIdx.x % 11; break;
        case 7: y = 12345; break;
        default: y = 99;
        }
        out[threadIdx.x] = y;
}

extern "C" __global__ void say(int n)
{
        printf("thread %d of %u: %s %5.2f %c %llx %%\n", (int)threadIdx.x, blockDim.x,
               n > 3 ? "many" : "few", n * 1.5, 'q', 0x123456789abcull);
}

extern "C" __global__ void must_be_small(const int *in)
{
        if (in[threadIdx.x] > 100)
                __trap();
}

extern "C" __global__ void heap(int *out)
{
        int *own = (int *)malloc(16 * sizeof(int));

        if (!own) {
                out[threadIdx.x] = -1;
                return;
        }
        for (int k = 0; k < 16; k++)
                own[k] = k * threadIdx.x;
        int sum = 0;
        for (int k = 0; k < 16; k++)
                sum += own[k];
        out[threadIdx.x] = sum;
        free(own);
}

extern "C" __global__ void halves(const __half *a, const __half *b, __half *sum, __half *fused,
                                  __half2 *pair, float *wide, __nv_bfloat16 *brain)
{
        int t = threadIdx.x;

        sum[t] = __hadd(a[t], b[t]);
        fused[t] = __hfma(a[t], b[t], a[t]);
        pair[t] = __hmul2(__halves2half2(a[t], b[t]), __floats2half2_rn(1.5f, -2.0f));
        wide[t] = __half2float(a[t]) + (__hlt(a[t], b[t]) ? 1.0f : 0.0f);
        brain[t] = __float2bfloat16(__half2float(a[t]) * 3.14159f);
}

extern "C" __global__ void vectors(const float4 *in, float4 *out, const short2 *narrow, int2 *wide)
{
        float4 v = in[threadIdx.x];
        short2 n = narrow[threadIdx.x];

        out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
        wide[threadIdx.x] = make_int2(n.x - n.y, n.x * n.y);
}
