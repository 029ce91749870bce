/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of plain device memory: what it costs, where it lies, what is refused. */
#include <signal.h>
#include <unistd.h>

#include "memory_fixture.h"

SIM_TEST(small_allocations_share_a_page_of_the_gpu)
{
        CUdeviceptr a, b;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemAlloc_v2(&a, 1));
        GOOD(cuMemAlloc_v2(&b, 1000));
        CHECK_EQ(before - free_bytes(), 2 * MIB);
        CHECK_EQ(a % 512, 0);
        CHECK_EQ(b % 512, 0);
        CHECK(a != b);
        GOOD(cuMemFree_v2(a));
        CHECK_EQ(before - free_bytes(), 2 * MIB);
        GOOD(cuMemFree_v2(b));
        CHECK_EQ(before - free_bytes(), 0);
}

SIM_TEST(large_allocations_take_whole_pages)
{
        CUdeviceptr a;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemAlloc_v2(&a, 2 * MIB + 1));
        CHECK_EQ(before - free_bytes(), 4 * MIB);
        CHECK_EQ(a % (2 * MIB), 0);
        GOOD(cuMemFree_v2(a));
        CHECK_EQ(before, free_bytes());
}

SIM_TEST(a_full_gpu_refuses_and_recovers)
{
        CUdeviceptr all, more;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemAlloc_v2(&all, before));
        CHECK_EQ(cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
        GOOD(cuMemFree_v2(all));
        CHECK_EQ(cuMemAlloc_v2(&more, before + 1), CUDA_ERROR_OUT_OF_MEMORY);
        GOOD(cuMemAlloc_v2(&more, 1));
        GOOD(cuMemFree_v2(more));
}

SIM_TEST(absurd_sizes_are_refused)
{
        CUdeviceptr a = 7;
        size_t pitch;

        one_gpu();
        CHECK_EQ(cuMemAlloc_v2(&a, 0), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemAlloc_v2(NULL, 8), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemAlloc_v2(&a, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&a, SIZE_MAX - 511), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&a, UINT64_C(1) << 47), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAllocPitch_v2(&a, &pitch, SIZE_MAX / 2, 4, 4), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(a, 7);
}

SIM_TEST(freeing_twice_or_inside_is_refused)
{
        CUdeviceptr a;

        one_gpu();
        GOOD(cuMemAlloc_v2(&a, 4096));
        CHECK_EQ(cuMemFree_v2(a + 512), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemFree_v2(a));
        CHECK_EQ(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemFree_v2(12345), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemFree_v2(0));
}

static CUdeviceptr touched;

static int touch(void)
{
        signal(SIGSEGV, SIG_DFL);
        return *(volatile char *)(uintptr_t)touched;
}

SIM_TEST(device_pointers_fault_on_the_host)
{
        one_gpu();
        GOOD(cuMemAlloc_v2(&touched, 4096));
        CHECK_EQ(sim_in_child(touch), 128 + SIGSEGV);
        GOOD(cuMemAlloc_v2(&touched, 4 * MIB));
        CHECK_EQ(sim_in_child(touch), 128 + SIGSEGV);
}

SIM_TEST(rows_are_padded_to_the_pitch)
{
        CUdeviceptr a, base;
        size_t pitch, size;

        one_gpu();
        GOOD(cuMemAllocPitch_v2(&a, &pitch, 1000, 3, 4));
        CHECK_EQ(pitch, 1024);
        GOOD(cuMemGetAddressRange_v2(&base, &size, a + 2050));
        CHECK_EQ(base, a);
        CHECK_EQ(size, 3072);
        CHECK_EQ(cuMemGetAddressRange_v2(&base, &size, a + 3072), CUDA_ERROR_NOT_FOUND);
        CHECK_EQ(cuMemAllocPitch_v2(&a, &pitch, 1000, 3, 5), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemAllocPitch_v2(&a, &pitch, 0, 3, 4), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(the_first_api_gives_addresses_of_32_bits)
{
        CUdeviceptr_v1 a;
        unsigned free_now, total;
        int back = 0, sent = 77;

        one_gpu();
        GOOD(cuMemAlloc(&a, 4096));
        GOOD(cuMemcpyHtoD(a, &sent, sizeof sent));
        GOOD(cuMemcpyDtoH(&back, a, sizeof back));
        CHECK_EQ(back, 77);
        GOOD(cuMemGetInfo(&free_now, &total));
        CHECK_EQ(total, 1024 * MIB);
        GOOD(cuMemFree(a));
}

SIM_TEST(a_context_that_goes_takes_its_memory_along)
{
        CUcontext context;
        CUdeviceptr a, b;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuCtxCreate_v2(&context, 0, 0));
        for (int i = 0; i < 100; i++)
                GOOD(cuMemAlloc_v2(&a, 100000));
        GOOD(cuMemAlloc_v2(&b, 100 * MIB));
        GOOD(cuCtxDestroy_v2(context));
        CHECK_EQ(free_bytes(), before);
        CHECK_EQ(cuMemFree_v2(b), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(holes_are_used_again)
{
        CUdeviceptr at[64];

        one_gpu();
        size_t before = free_bytes();
        for (int i = 0; i < 64; i++)
                GOOD(cuMemAlloc_v2(&at[i], 256 * 1024));
        size_t full = free_bytes();
        CHECK_EQ(before - full, 16 * MIB);
        for (int i = 0; i < 64; i += 2)
                GOOD(cuMemFree_v2(at[i]));
        for (int i = 0; i < 64; i += 2)
                GOOD(cuMemAlloc_v2(&at[i], 256 * 1024));
        CHECK_EQ(free_bytes(), full);
        for (int i = 0; i < 64; i++)
                GOOD(cuMemFree_v2(at[i]));
        CHECK_EQ(free_bytes(), before);
}

/* Each allocation carries a stamp at both ends: any overlap would break one. */
SIM_TEST(allocations_never_overlap)
{
        enum { COUNT = 400, ROUNDS = 6000 };
        static struct {
                CUdeviceptr at;
                size_t bytes;
                uint64_t stamp;
        } live[COUNT];
        uint32_t seed = 77;
        uint64_t back;

        one_gpu();
        size_t before = free_bytes();
        for (uint64_t round = 1; round < ROUNDS; round++) {
                seed = seed * 1664525 + 1013904223;
                unsigned i = (seed >> 10) % COUNT;
                if (live[i].at) {
                        GOOD(cuMemcpyDtoH_v2(&back, live[i].at, 8));
                        CHECK_EQ(back, live[i].stamp);
                        GOOD(cuMemcpyDtoH_v2(&back, live[i].at + live[i].bytes - 8, 8));
                        CHECK_EQ(back, live[i].stamp);
                        GOOD(round % 2 || live[i].bytes % 2 ? cuMemFree_v2(live[i].at)
                                                            : cuMemFreeAsync(live[i].at, NULL));
                        live[i].at = 0;
                        continue;
                }
                seed = seed * 1664525 + 1013904223;
                live[i].bytes = 16 + (seed >> 8) % (round % 7 ? 300000 : 3000000);
                live[i].stamp = round << 32 | seed;
                GOOD(round % 3 ? cuMemAlloc_v2(&live[i].at, live[i].bytes)
                               : cuMemAllocAsync(&live[i].at, live[i].bytes, NULL));
                GOOD(cuMemcpyHtoD_v2(live[i].at, &live[i].stamp, 8));
                GOOD(cuMemcpyHtoD_v2(live[i].at + live[i].bytes - 8, &live[i].stamp, 8));
        }
        for (unsigned i = 0; i < COUNT; i++)
                GOOD(cuMemFree_v2(live[i].at));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(free_bytes(), before);
}

/* Prints what it takes: the figure is for people, the machine that tests may be busy. */
SIM_TEST(a_hundred_thousand_live_allocations)
{
        enum { COUNT = 100000 };
        CUdeviceptr *at = calloc(COUNT, sizeof *at);

        one_gpu();
        size_t before = free_bytes();
        uint64_t start = clock_now_ns();
        for (int i = 0; i < COUNT; i++)
                GOOD(cuMemAlloc_v2(&at[i], 512 + (size_t)(i % 7) * 1024));
        uint64_t middle = clock_now_ns();
        for (int i = 0; i < COUNT; i++)
                GOOD(cuMemFree_v2(at[(unsigned)i * UINT64_C(7919) % COUNT]));
        uint64_t end = clock_now_ns();
        CHECK_EQ(free_bytes(), before);
        fprintf(stderr, "# %d live: alloc %llu ns, free %llu ns\n", COUNT,
                (unsigned long long)(middle - start) / COUNT,
                (unsigned long long)(end - middle) / COUNT);
        start = clock_now_ns();
        for (int i = 0; i < COUNT; i++) {
                GOOD(cuMemAlloc_v2(&at[0], 1024));
                GOOD(cuMemFree_v2(at[0]));
        }
        fprintf(stderr, "# alone: alloc and free %llu ns\n",
                (unsigned long long)(clock_now_ns() - start) / COUNT);
        GOOD(cuMemAlloc_v2(&at[1], 1024));
        start = clock_now_ns();
        for (int i = 0; i < COUNT; i++) {
                GOOD(cuMemAlloc_v2(&at[0], 1024));
                GOOD(cuMemFree_v2(at[0]));
        }
        fprintf(stderr, "# in a shared page: alloc and free %llu ns\n",
                (unsigned long long)(clock_now_ns() - start) / COUNT);
        free(at);
}

int main(void)
{
        return RUN(CASE(small_allocations_share_a_page_of_the_gpu),
                   CASE(large_allocations_take_whole_pages), CASE(a_full_gpu_refuses_and_recovers),
                   CASE(absurd_sizes_are_refused), CASE(freeing_twice_or_inside_is_refused),
                   CASE(device_pointers_fault_on_the_host), CASE(rows_are_padded_to_the_pitch),
                   CASE(the_first_api_gives_addresses_of_32_bits),
                   CASE(a_context_that_goes_takes_its_memory_along), CASE(holes_are_used_again),
                   CASE(allocations_never_overlap), CASE(a_hundred_thousand_live_allocations));
}
