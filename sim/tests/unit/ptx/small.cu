// For the fat binaries beside: small.lz4.fatbin (CUDA 11.8), small.zstd.fatbin (CUDA 13.0), small.cubin.
__device__ int table[4] = { 1, 2, 3, 4 };
__constant__ float scale = 2.5f;
__device__ unsigned long long counter;

extern "C" __global__ void __launch_bounds__(128) scale_all(float *data, int n, char flag)
{
        __shared__ float tile[128];
        int i = blockIdx.x * blockDim.x + threadIdx.x;

        tile[threadIdx.x] = i < n ? data[i] : 0;
        __syncthreads();
        if (i < n && flag)
                data[i] = tile[threadIdx.x] * scale + table[i & 3] + tile[threadIdx.x ^ 1];
        atomicAdd(&counter, 1ull);
}
