/* sgemm.cu: multiply two small matrices with cuBLAS and print the status of every call. */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>

enum { N = 64 };

int main()
{
        std::vector<float> host(N * N, 1.0f);
        float *a, *b, *c;
        const float one = 1.0f, zero = 0.0f;
        const size_t bytes = N * N * sizeof(float);
        cublasHandle_t handle = nullptr;        /* the calls after a refused creation must not find garbage */

        int created = cublasCreate(&handle);
        int allocated = cudaMalloc(&a, bytes) | cudaMalloc(&b, bytes) | cudaMalloc(&c, bytes);
        int sent = cublasSetMatrix(N, N, sizeof(float), host.data(), N, a, N) |
                   cublasSetMatrix(N, N, sizeof(float), host.data(), N, b, N);
        int multiplied = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, b, N,
                                     &zero, c, N);
        int synchronised = cudaDeviceSynchronize();
        int received = cublasGetMatrix(N, N, sizeof(float), c, N, host.data(), N);
        int scaled = cublasSscal(handle, N, &one, a, 1);
        int destroyed = cublasDestroy(handle);

        printf("create %d alloc %d set %d sgemm %d sync %d get %d sscal %d destroy %d\n", created,
               allocated, sent, multiplied, synchronised, received, scaled, destroyed);
        return created | allocated | sent | multiplied | synchronised | received | scaled | destroyed;
}
