// Threads that meet: shuffles, votes, matches, barriers, atomics, clocks, grid-wide barriers.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void reduce_shuffle(const int *in, int *out, int n)
{
        int sum = 0;

        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
                sum += in[i];
        for (int offset = 16; offset > 0; offset >>= 1)
                sum += __shfl_down_sync(0xffffffff, sum, offset);
        if ((threadIdx.x & 31) == 0)
                atomicAdd(out, sum);
}

extern "C" __global__ void scan_block(const int *in, int *out)
{
        __shared__ int totals[32];
        int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, value = in[threadIdx.x];

        for (int d = 1; d < 32; d <<= 1) {
                int other = __shfl_up_sync(0xffffffff, value, d);

                if (lane >= d)
                        value += other;
        }
        if (lane == 31)
                totals[warp] = value;
        __syncthreads();
        if (warp == 0) {
                int total = threadIdx.x < blockDim.x / 32 ? totals[lane] : 0;

                for (int d = 1; d < 32; d <<= 1) {
                        int other = __shfl_up_sync(0xffffffff, total, d);

                        if (lane >= d)
                                total += other;
                }
                totals[lane] = total;
        }
        __syncthreads();
        out[threadIdx.x] = value + (warp ? totals[warp - 1] : 0);
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
        __shared__ unsigned local[256];

        for (int i = threadIdx.x; i < 256; i += blockDim.x)
                local[i] = 0;
        __syncthreads();
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
                atomicAdd(&local[in[i]], 1u);
        __syncthreads();
        for (int i = threadIdx.x; i < 256; i += blockDim.x)
                atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void votes(unsigned *out)
{
        unsigned lane = threadIdx.x & 31, *mine = out + threadIdx.x * 12;

        mine[0] = __ballot_sync(0xffffffff, lane % 3 == 0);
        mine[1] = __any_sync(0xffffffff, lane == 40);
        mine[2] = __all_sync(0xffffffff, lane < 32);
        mine[3] = __match_any_sync(0xffffffff, lane / 5);
        mine[4] = __shfl_xor_sync(0xffffffff, lane * 10, 5);
        mine[5] = __shfl_sync(0xffffffff, lane + 100, 7, 16);
        mine[6] = __syncthreads_count(lane < 10);
        mine[7] = __syncthreads_and(lane < 31);
        mine[8] = __syncthreads_or(threadIdx.x == 33);
        if (lane & 1)
                mine[9] = __ballot_sync(0xaaaaaaaa, lane > 8);
        else
                mine[9] = __activemask();
        __syncwarp();
        int same;
        mine[10] = __match_all_sync(0xffffffff, 5, &same);
        mine[11] = same;
}

extern "C" __global__ void reduce_hardware(unsigned *out)
{
        unsigned lane = threadIdx.x & 31;

        out[0 * 32 + lane] = __reduce_add_sync(0xffffffff, lane);
        out[1 * 32 + lane] = (unsigned)__reduce_min_sync(0xffffffff, (int)lane - 5);
        out[2 * 32 + lane] = __reduce_max_sync(0xffffffff, lane * 3);
        out[3 * 32 + lane] = __reduce_xor_sync(0xffffffff, 1u << lane);
}

// Half of the lanes wait for the other half, lane by lane: they must not starve each other.
extern "C" __global__ void spin_lock(int *lock, int *count)
{
        bool is_done = false;

        while (!is_done)
                if (atomicCAS(lock, 0, 1) == 0) {
                        *(volatile int *)count += 1;
                        __threadfence();
                        atomicExch(lock, 0);
                        is_done = true;
                }
}

extern "C" __global__ void atomics(int *i, unsigned *u, float *f, double *d, unsigned long long *l)
{
        int t = blockIdx.x * blockDim.x + threadIdx.x;

        atomicMin(&i[0], -t);
        atomicMax(&i[1], t);
        atomicSub(&i[2], 2);
        atomicAnd(&u[0], ~(1u << (t & 15)));
        atomicOr(&u[1], 1u << (t & 31));
        atomicXor(&u[2], (unsigned)t);
        atomicInc(&u[3], 9);
        atomicDec(&u[4], 9);
        atomicAdd(f, 1.0f);
        atomicAdd(d, 0.5);
        atomicAdd(l, 1ull << 33);
        atomicMax(l + 1, (unsigned long long)t << 40);
}

extern "C" __global__ void spin_clock(long long *out, long long cycles)
{
        long long start = clock64(), now;

        do
                now = clock64();
        while (now - start < cycles);
        out[blockIdx.x] = now - start;
}

extern "C" __global__ void grid_barrier(int *data, int *out, int rounds)
{
        cg::grid_group grid = cg::this_grid();
        int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;

        for (int r = 0; r < rounds; r++) {
                out[i] = data[(i + 1) % n] + 1;
                grid.sync();
                data[i] = out[i];
                grid.sync();
        }
}

extern "C" __global__ void last_block(const int *in, int *partial, unsigned *done, int *out)
{
        __shared__ bool is_last;

        atomicAdd(&partial[blockIdx.x], in[blockIdx.x * blockDim.x + threadIdx.x]);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
                is_last = atomicInc(done, gridDim.x) == gridDim.x - 1;
        __syncthreads();
        if (is_last && threadIdx.x == 0) {
                int sum = 0;

                for (unsigned b = 0; b < gridDim.x; b++)
                        sum += ((volatile int *)partial)[b];
                *out = sum;
        }
}
