// What kernels ask of the driver beyond arithmetic: malloc, printf, assert, a grid that waits for
// itself. kernel.ptx is made of this: nvcc 11.8 -ptx -arch=compute_60 kernel.cu
#include <assert.h>
#include <cooperative_groups.h>
#include <stdio.h>

extern "C" __global__ void take(int **out, int words)
{
        int at = blockIdx.x * blockDim.x + threadIdx.x;
        int *own = (int *)malloc(words * sizeof(int));

        out[at] = own;
        for (int i = 0; own && i < words; i++)
                own[i] = at * 1000 + i;
}

extern "C" __global__ void give(int **in, int words, int *wrong)
{
        int at = blockIdx.x * blockDim.x + threadIdx.x;
        int *own = in[at];

        for (int i = 0; own && i < words; i++)
                if (own[i] != at * 1000 + i)
                        atomicAdd(wrong, 1);
        free(own);
}

extern "C" __global__ void say(const char *what)
{
        printf("block %d of %s, %.2f\n", blockIdx.x, "many", 1.5);
}

extern "C" __global__ void check(int most)
{
        assert((int)threadIdx.x < most);
}

/* Each round every block reads what all blocks wrote in the last one. */
extern "C" __global__ void rounds(int *now, int *next, int count)
{
        cooperative_groups::grid_group grid = cooperative_groups::this_grid();
        int count = gridDim.x * blockDim.x, at = blockIdx.x * blockDim.x + threadIdx.x;

        for (int round = 0; round < count; round++) {
                next[at] = now[(at + blockDim.x + 1) % count] + 1;
                grid.sync();
                int *last = now;
                now = next;
                next = last;
        }
}
