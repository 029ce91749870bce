/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what kernels may touch: their memory, all of it, and nothing else. */
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory_fixture.h"

/* word[0] += 1 at the address it gets; `peek` only reads it and writes it to `out`. */
static const char source[] =
        ".version 7.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry bump(.param .u64 at)\n{\n"
        ".reg .b64 %a; .reg .b32 %v;\n"
        "ld.param.u64 %a, [at]; ld.global.u32 %v, [%a]; add.u32 %v, %v, 1;\n"
        "st.global.u32 [%a], %v; ret;\n}\n"
        ".visible .entry peek(.param .u64 at, .param .u64 out)\n{\n"
        ".reg .b64 %a, %o; .reg .b32 %v;\n"
        "ld.param.u64 %a, [at]; ld.param.u64 %o, [out]; ld.global.u32 %v, [%a];\n"
        "st.global.u32 [%o], %v; ret;\n}\n"
        /* out[i] = i for every thread of the grid */
        ".visible .entry count(.param .u64 out)\n{\n"
        ".reg .b64 %o, %i; .reg .b32 %t, %b, %n;\n"
        "ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\n"
        "mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %i, %t, 4; add.u64 %o, %o, %i;\n"
        "st.global.u32 [%o], %t; ret;\n}\n";

static CUfunction function(const char *name)
{
        CUmodule module;
        CUfunction found;

        GOOD(cuModuleLoadData(&module, source));
        GOOD(cuModuleGetFunction(&found, module, name));
        return found;
}

static CUresult run(CUfunction kernel, CUdeviceptr at, CUdeviceptr out)
{
        void *params[] = { &at, &out };
        CUresult r = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);

        return r ? r : cuCtxSynchronize();
}

SIM_TEST(kernels_use_every_kind_of_memory)
{
        CUdeviceptr plain, pooled, managed;
        void *host;
        static int registered = 40;
        int back = 0;

        one_gpu();
        CUfunction bump = function("bump");
        GOOD(cuMemAlloc_v2(&plain, 4));
        GOOD(cuMemAllocAsync(&pooled, 4, NULL));
        GOOD(cuMemAllocManaged(&managed, 4, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemHostAlloc(&host, 4, CU_MEMHOSTALLOC_DEVICEMAP));
        GOOD(cuMemHostRegister_v2(&registered, 4, CU_MEMHOSTREGISTER_DEVICEMAP));
        GOOD(cuMemsetD32_v2(plain, 10, 1));
        GOOD(cuMemsetD32_v2(pooled, 20, 1));
        *(int *)(uintptr_t)managed = 30;
        *(int *)host = 50;
        GOOD(run(bump, plain, 0));
        GOOD(run(bump, pooled, 0));
        GOOD(run(bump, managed, 0));
        GOOD(run(bump, (CUdeviceptr)(uintptr_t)&registered, 0));
        GOOD(run(bump, (CUdeviceptr)(uintptr_t)host, 0));
        GOOD(cuMemcpyDtoH_v2(&back, plain, 4));
        CHECK_EQ(back, 11);
        GOOD(cuMemcpyDtoH_v2(&back, pooled, 4));
        CHECK_EQ(back, 21);
        CHECK_EQ(*(int *)(uintptr_t)managed, 31);
        CHECK_EQ(registered, 41);
        CHECK_EQ(*(int *)host, 51);
}

SIM_TEST(a_kernel_sees_what_a_fill_left_and_a_copy_sees_the_kernel)
{
        enum { BYTES = 8 << 20 };
        uint32_t *back = malloc(BYTES);
        CUdeviceptr a;

        one_gpu();
        GOOD(cuMemAlloc_v2(&a, BYTES));
        GOOD(cuMemsetD32_v2(a, 7, BYTES / 4));
        GOOD(run(function("bump"), a + (5 << 20), 0));
        GOOD(cuMemcpyDtoH_v2(back, a, BYTES));
        for (unsigned i = 0; i < BYTES / 4; i++)
                CHECK_EQ(back[i], i == 5 << 18 ? 8 : 7);
        CUfunction count = function("count");
        void *params[] = { &a };
        GOOD(cuLaunchKernel(count, BYTES / 4 / 512, 1, 1, 512, 1, 1, 0, NULL, params, NULL));
        GOOD(cuMemcpyDtoH_v2(back, a, BYTES));
        for (unsigned i = 0; i < BYTES / 4; i++)
                CHECK_EQ(back[i], i);
}

SIM_TEST(beyond_the_end_is_illegal)
{
        CUdeviceptr a;

        one_gpu();
        CUfunction bump = function("bump");
        GOOD(cuMemAlloc_v2(&a, 1000));
        GOOD(run(bump, a + 996, 0));
        CHECK_EQ(run(bump, a + 1000, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
        /* The context is lost, as on hardware. */
        CHECK_EQ(cuMemAlloc_v2(&a, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
}

SIM_TEST(freed_memory_is_illegal)
{
        CUdeviceptr a, keep;

        one_gpu();
        CUfunction bump = function("bump");
        GOOD(cuMemAlloc_v2(&keep, 1000));
        GOOD(cuMemAlloc_v2(&a, 1000));
        GOOD(cuMemFree_v2(a));
        CHECK_EQ(run(bump, a, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
}

SIM_TEST(pageable_memory_is_illegal)
{
        static int mine;

        one_gpu();
        CHECK_EQ(run(function("bump"), (CUdeviceptr)(uintptr_t)&mine, 0),
                 CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK_EQ(mine, 0);
}

SIM_TEST(memory_freed_on_the_stream_serves_the_work_before_it)
{
        CUdeviceptr a, out;
        int back = 0;

        one_gpu();
        CUfunction bump = function("bump"), peek = function("peek");
        GOOD(cuMemAlloc_v2(&out, 4));
        for (int round = 0; round < 50; round++) {
                GOOD(cuMemAllocAsync(&a, 3 * MIB, NULL));
                GOOD(cuMemsetD32Async(a, (unsigned)round, 3 * MIB / 4, NULL));
                void *params[] = { &a, &out };
                GOOD(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
                GOOD(cuLaunchKernel(peek, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
                GOOD(cuMemFreeAsync(a, NULL));
        }
        GOOD(cuMemcpyDtoH_v2(&back, out, 4));
        CHECK_EQ(back, 50);
}

/* Mapped memory that may only be read. */
SIM_TEST(mapped_memory_needs_access)
{
        CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
        CUmemAccessDesc access = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
                                   .flags = CU_MEM_ACCESS_FLAGS_PROT_READ };
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at, out;

        one_gpu();
        CUfunction bump = function("bump"), peek = function("peek");
        GOOD(cuMemAlloc_v2(&out, 4));
        GOOD(cuMemCreate(&handle, 2 * MIB, &props, 0));
        GOOD(cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0));
        GOOD(cuMemMap(at, 2 * MIB, 0, handle, 0));
        GOOD(cuMemSetAccess(at, 2 * MIB, &access, 1));
        GOOD(run(peek, at, out));
        CHECK_EQ(run(bump, at, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
}

SIM_TEST(memory_of_another_gpu_needs_peer_access)
{
        CUcontext one, two;
        CUdeviceptr there;
        int back = 0;

        machine_small(2, 256 * MIB, 0);
        GOOD(cuInit(0));
        two = context_on(1);
        GOOD(cuMemAlloc_v2(&there, 4));
        GOOD(cuMemsetD32_v2(there, 3, 1));
        GOOD(cuCtxSynchronize());
        one = context_on(0);
        CUfunction bump = function("bump");
        GOOD(cuCtxEnablePeerAccess(two, 0));
        GOOD(run(bump, there, 0));
        GOOD(cuMemcpyDtoH_v2(&back, there, 4));
        CHECK_EQ(back, 4);
        GOOD(cuCtxDisablePeerAccess(two));
        CHECK_EQ(run(bump, there, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
        (void)one;
}

SIM_TEST(a_kernel_brings_managed_memory_onto_its_gpu)
{
        CUdeviceptr a;

        one_gpu();
        CUfunction bump = function("bump");
        GOOD(cuMemAllocManaged(&a, 20 * MIB, CU_MEM_ATTACH_GLOBAL));
        size_t before = free_bytes();
        GOOD(run(bump, a, 0));
        CHECK_EQ(before - free_bytes(), 20 * MIB);
        GOOD(cuMemAdvise(a, 20 * MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
        GOOD(cuMemAdvise(a, 20 * MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
        GOOD(cuMemPrefetchAsync(a, 20 * MIB, CU_DEVICE_CPU, NULL));
        GOOD(run(bump, a, 0));
        CHECK_EQ(before, free_bytes());
        CHECK_EQ(*(int *)(uintptr_t)a, 2);
}

/* GPU time that one launch takes, by the machine's own count. */
static double run_ms(CUfunction kernel, CUdeviceptr at)
{
        const struct machine_unit *unit = &sim_machine_open()->file->header.units[0];
        uint64_t before_ns = unit->engines[ENGINE_COMPUTE].busy_ns;

        GOOD(run(kernel, at, at));
        return (double)(unit->engines[ENGINE_COMPUTE].busy_ns - before_ns) / 1e6;
}

static double transfer_ms(uint64_t bytes, uint64_t bytes_per_s)
{
        return (double)bytes * 1e3 / (double)bytes_per_s;
}

static bool is_about(double ms, double expected_ms)
{
        return ms > expected_ms * 0.99 && ms < expected_ms * 1.01 + 0.05;
}

SIM_TEST(the_host_fetches_pages_back_and_the_next_kernel_pays)
{
        CUdeviceptr a;

        one_gpu();
        const struct machine_gpu *gpu = &sim_machine_open()->file->header.gpus[0];
        CUfunction bump = function("bump");
        GOOD(cuMemAllocManaged(&a, 200 * MIB, CU_MEM_ATTACH_GLOBAL));
        size_t before = free_bytes();
        CHECK(is_about(run_ms(bump, a), transfer_ms(200 * MIB, gpu->fault_bytes_per_s)));
        CHECK_EQ(before - free_bytes(), 200 * MIB);
        CHECK(run_ms(bump, a) < 0.05);
        /* Reading one byte takes its page, two touches of one page no more than that. */
        volatile int *host = (volatile int *)(uintptr_t)a;
        CHECK_EQ(host[0], 2);
        CHECK_EQ(host[1], 0);
        CHECK_EQ(before - free_bytes(), 198 * MIB);
        for (unsigned i = 1; i < 50; i++)
                host[i * MIB / sizeof *host * 2] = 7;
        CHECK_EQ(before - free_bytes(), 100 * MIB);
        CHECK(is_about(run_ms(bump, a), transfer_ms(200 * MIB, gpu->fault_bytes_per_s)));
        CHECK_EQ(before - free_bytes(), 200 * MIB);
        CHECK(run_ms(bump, a) < 0.05);
        CHECK_EQ(host[0], 4);
        CHECK_EQ(host[2 * MIB / sizeof *host], 7);
}

/* Stands in front of the C library's: an old kernel knows fewer requests. */
static bool is_old_kernel;
static unsigned refused_requests;

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
        va_list list;

        va_start(list, request);
        void *argument = va_arg(list, void *);
        va_end(list);
        if (!is_old_kernel)
                return (int)syscall(SYS_ioctl, fd, request, argument);
        refused_requests++;
        errno = ENOTTY;
        return -1;
}

SIM_TEST(an_old_kernel_tells_of_the_hosts_use_too)
{
        CUdeviceptr a;

        one_gpu();
        is_old_kernel = true;
        GOOD(cuMemAllocManaged(&a, 8 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemPrefetchAsync(a, 8 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        size_t before = free_bytes();
        *(volatile char *)(uintptr_t)(a + 3 * MIB) = 1;
        *(volatile char *)(uintptr_t)(a + 8 * MIB - 1) = 1;
        CHECK_EQ(free_bytes() - before, 4 * MIB);
        CHECK(refused_requests > 0);
}

SIM_TEST(a_system_call_may_use_pages_that_are_on_a_gpu)
{
        CUdeviceptr a;
        int pipes[2];

        one_gpu();
        GOOD(cuMemAllocManaged(&a, 4 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemPrefetchAsync(a, 4 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        size_t before = free_bytes();
        CHECK_EQ(pipe(pipes), 0);
        CHECK_EQ(write(pipes[1], "hello", 5), 5);
        CHECK_EQ(read(pipes[0], (void *)(uintptr_t)(a + 2 * MIB), 5), 5);
        CHECK_EQ(free_bytes() - before, 2 * MIB);
        CHECK_EQ(memcmp((void *)(uintptr_t)(a + 2 * MIB), "hello", 5), 0);
}

SIM_TEST(copies_and_fills_are_no_use_by_the_host)
{
        CUdeviceptr a;
        int word = 5;

        one_gpu();
        CUfunction bump = function("bump");
        GOOD(cuMemAllocManaged(&a, 4 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemPrefetchAsync(a, 4 * MIB, 0, NULL));
        GOOD(cuCtxSynchronize());
        size_t before = free_bytes();
        GOOD(cuMemcpyHtoD_v2(a, &word, sizeof word));
        GOOD(cuMemsetD8_v2(a + 2 * MIB, 0, 2 * MIB));
        GOOD(cuMemcpyDtoH_v2(&word, a, sizeof word));
        GOOD(run(bump, a, 0));
        CHECK_EQ(free_bytes(), before);
        CHECK_EQ(*(int *)(uintptr_t)a, 6);
        CHECK_EQ(free_bytes(), before + 2 * MIB);
}

SIM_TEST(advice_decides_what_the_next_kernel_moves_and_pays)
{
        CUdeviceptr a;
        uint64_t size = 200 * MIB;

        one_gpu();
        const struct machine_gpu *gpu = &sim_machine_open()->file->header.gpus[0];
        double link_ms = transfer_ms(size, gpu->in_bytes_per_s);
        double fault_ms = transfer_ms(size, gpu->fault_bytes_per_s);
        CUfunction bump = function("bump");
        GOOD(cuMemAllocManaged(&a, size, CU_MEM_ATTACH_GLOBAL));
        size_t before = free_bytes();
        /* It stays where it is preferred, and where a mapping makes faults needless. */
        GOOD(cuMemAdvise(a, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
        CHECK(is_about(run_ms(bump, a), link_ms));
        CHECK(is_about(run_ms(bump, a), link_ms));
        CHECK_EQ(free_bytes(), before);
        GOOD(cuMemAdvise(a, size, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, CU_DEVICE_CPU));
        GOOD(cuMemAdvise(a, size, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
        CHECK(is_about(run_ms(bump, a), link_ms));
        CHECK_EQ(free_bytes(), before);
        GOOD(cuMemAdvise(a, size, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 0));
        GOOD(cuMemAdvise(a, size, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
        CHECK(is_about(run_ms(bump, a), fault_ms));
        CHECK(run_ms(bump, a) < 0.05);
        CHECK_EQ(before - free_bytes(), size);
        /* What is mostly read has a copy on both sides. */
        GOOD(cuMemAdvise(a, size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
        CHECK_EQ(*(volatile int *)(uintptr_t)a, 5);
        CHECK_EQ(before - free_bytes(), size);
        CHECK(run_ms(bump, a) < 0.05);
}

int main(void)
{
        return RUN(CASE(kernels_use_every_kind_of_memory),
                   CASE(a_kernel_sees_what_a_fill_left_and_a_copy_sees_the_kernel),
                   CASE(beyond_the_end_is_illegal), CASE(freed_memory_is_illegal),
                   CASE(pageable_memory_is_illegal),
                   CASE(memory_freed_on_the_stream_serves_the_work_before_it),
                   CASE(mapped_memory_needs_access), CASE(memory_of_another_gpu_needs_peer_access),
                   CASE(a_kernel_brings_managed_memory_onto_its_gpu),
                   CASE(the_host_fetches_pages_back_and_the_next_kernel_pays),
                   CASE(an_old_kernel_tells_of_the_hosts_use_too),
                   CASE(a_system_call_may_use_pages_that_are_on_a_gpu),
                   CASE(copies_and_fills_are_no_use_by_the_host),
                   CASE(advice_decides_what_the_next_kernel_moves_and_pays));
}
