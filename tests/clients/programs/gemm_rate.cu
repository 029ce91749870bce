/* gemm_rate N SECONDS: multiplies matrices with cuBLAS for so long; prints how many in a second. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>

typedef std::chrono::steady_clock steady;

static double since(steady::time_point begin)
{
        return std::chrono::duration<double>(steady::now() - begin).count();
}

int main(int argc, char **argv)
{
        const int n = argc > 1 ? atoi(argv[1]) : 1024;
        const double seconds = argc > 2 ? atof(argv[2]) : 1;
        const float one = 1.0f, zero = 0.0f;
        float *a, *b, *c;
        cublasHandle_t handle = nullptr;
        const size_t bytes = sizeof(float) * n * n;
        int status = cublasCreate(&handle) | cudaMalloc(&a, bytes) | cudaMalloc(&b, bytes) | cudaMalloc(&c, bytes);
        const steady::time_point begin = steady::now();
        long count = 0;

        /* Waits for every eighth, as a program does that looks at its results. */
        for (; since(begin) < seconds && !status; count++) {
                status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
                if (count % 8 == 7)
                        status |= cudaDeviceSynchronize();
        }
        status |= cudaDeviceSynchronize();
        printf("status %d rate %.3f\n", status, count / since(begin));
        return status;
}
