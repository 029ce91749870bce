/* symbols.cu: variables of a program (device, constant, managed) on two GPUs, through the runtime;
 * attributes and occupancy of its kernels. Prints one line for each thing that is not as on hardware. */
#include <cstdio>
#include <cuda_runtime.h>

__managed__ int shared_word = 5;
__device__ int counter = 7;
__constant__ float factors[4] = { 1, 2, 3, 4 };
extern __shared__ int dynamic[];

__global__ void scale(float *out, int count)
{
        int i = blockIdx.x * blockDim.x + threadIdx.x;

        if (i < count)
                out[i] = factors[i & 3] * i;
        if (i == 0) {
                counter++;
                shared_word += 10;
        }
}

__global__ void __launch_bounds__(128) rotate(int *out)
{
        dynamic[threadIdx.x] = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

static int wrong;

static void equal(const char *what, long got, long wanted)
{
        if (got != wanted)
                printf("%s: %ld, not %ld\n", what, got, wanted), wrong++;
}
#define NEED(call) equal(#call, (long)(call), 0)

static int counter_read(void)
{
        int value = -1;

        NEED(cudaMemcpyFromSymbol(&value, counter, sizeof value));
        return value;
}

static void variables(float *out)
{
        const float twos[4] = { 2, 2, 2, 2 };
        float host[1000];
        void *address;
        size_t size;

        shared_word = 6;
        scale<<<8, 128>>>(out, 1000);
        NEED(cudaDeviceSynchronize());
        equal("the counter after a kernel", counter_read(), 8);
        equal("the managed variable after a kernel", shared_word, 16);
        NEED(cudaMemcpy(host, out, sizeof host, cudaMemcpyDefault));
        equal("a product of a constant", (long)host[5], 10);
        NEED(cudaMemcpyToSymbol(factors, twos, sizeof twos));
        scale<<<8, 128>>>(out, 1000);
        NEED(cudaMemcpy(host, out, sizeof host, cudaMemcpyDefault));
        equal("a product of a new constant", (long)host[7], 14);
        NEED(cudaGetSymbolSize(&size, factors));
        equal("the size of the constants", (long)size, 16);
        NEED(cudaGetSymbolAddress(&address, shared_word));
        equal("the managed variable has one address", address == (void *)&shared_word, 1);
}

static void kernels(void)
{
        cudaFuncAttributes attributes;
        int blocks, grid, block, *out;

        NEED(cudaFuncGetAttributes(&attributes, rotate));
        equal("a kernel has registers", attributes.numRegs > 0, 1);
        equal("threads of a kernel with bounds", attributes.maxThreadsPerBlock, 128);
        NEED(cudaFuncSetAttribute(rotate, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
        NEED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rotate, 128, 100000));
        equal("blocks with much shared memory", blocks, 1);
        NEED(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale, 0, 0));
        equal("the best block", block, 1024);
        NEED(cudaMallocManaged(&out, 128 * sizeof *out));
        rotate<<<1, 128, 512>>>(out);
        NEED(cudaDeviceSynchronize());
        equal("a turned array", out[0], 127);
        rotate<<<1, 256, 1024>>>(out);
        equal("a launch beyond the bounds fails", cudaGetLastError() != cudaSuccess, 1);
}

int main()
{
        float *out;

        NEED(cudaMalloc(&out, 1000 * sizeof *out));
        variables(out);
        kernels();
        NEED(cudaSetDevice(1));
        NEED(cudaMalloc(&out, 1000 * sizeof *out));
        scale<<<8, 128>>>(out, 1000);
        NEED(cudaDeviceSynchronize());
        equal("the counter of the second GPU", counter_read(), 8);
        equal("the managed variable after both", shared_word, 36);
        NEED(cudaSetDevice(0));
        equal("the counter of the first GPU", counter_read(), 9);
        NEED(cudaDeviceReset());
        equal("the counter after a reset", counter_read(), 7);
        if (!wrong)
                printf("symbols are fine\n");
        return wrong != 0;
}
