/* Virtual memory: managed memory where the card's part of a share is full. The card's own figure is the
 * judge of what lies on the card, and the kernels' results of what became of the data. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define GOOD(call) CHECK_EQ(call, CUDA_SUCCESS)
#define FULL(call) CHECK_EQ(call, CUDA_ERROR_OUT_OF_MEMORY)

/* One word in sixteen bytes: fill writes seed + i; pass writes 5 × what it reads + 1; sum adds all. */
static const char source[] =
        ".version 7.0\n.target sm_60\n.address_size 64\n"
        ".visible .entry fill(.param .u64 at, .param .u32 seed)\n{\n"
        ".reg .b64 %a, %i; .reg .b32 %t, %b, %n, %s;\n"
        "ld.param.u64 %a, [at]; ld.param.u32 %s, [seed];\n"
        "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\n"
        "mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %i, %t, 16; add.u64 %a, %a, %i;\n"
        "add.u32 %s, %s, %t; st.global.u32 [%a], %s; ret;\n}\n"
        ".visible .entry pass(.param .u64 from, .param .u64 to)\n{\n"
        ".reg .b64 %a, %c, %i; .reg .b32 %t, %b, %n, %v;\n"
        "ld.param.u64 %a, [from]; ld.param.u64 %c, [to];\n"
        "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\n"
        "mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %i, %t, 16; add.u64 %a, %a, %i;\n"
        "add.u64 %c, %c, %i; ld.global.u32 %v, [%a]; mul.lo.u32 %v, %v, 5; add.u32 %v, %v, 1;\n"
        "st.global.u32 [%c], %v; ret;\n}\n"
        ".visible .entry sum(.param .u64 at, .param .u64 out)\n{\n"
        ".reg .b64 %a, %o, %i; .reg .b32 %t, %b, %n, %v, %old;\n"
        "ld.param.u64 %a, [at]; ld.param.u64 %o, [out];\n"
        "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\n"
        "mad.lo.u32 %t, %b, %n, %t; mul.wide.u32 %i, %t, 16; add.u64 %a, %a, %i;\n"
        "ld.global.u32 %v, [%a]; atom.global.add.u32 %old, [%o], %v; ret;\n}\n";

static struct {
        CUfunction fill, pass, sum;
} kernels;

static void kernels_load(void)
{
        CUmodule module;

        GOOD(cuModuleLoadData(&module, source));
        GOOD(cuModuleGetFunction(&kernels.fill, module, "fill"));
        GOOD(cuModuleGetFunction(&kernels.pass, module, "pass"));
        GOOD(cuModuleGetFunction(&kernels.sum, module, "sum"));
}

static void run(CUfunction kernel, CUdeviceptr a, uint64_t b, size_t bytes, CUstream stream)
{
        unsigned threads = (unsigned)(bytes / 16);
        void *params[] = { &a, &b };

        GOOD(cuLaunchKernel(kernel, threads / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL));
}

static unsigned sum_of(CUdeviceptr buffer, CUdeviceptr out, size_t bytes)
{
        unsigned sum = 0;

        GOOD(cuMemsetD32_v2(out, 0, 1));
        run(kernels.sum, buffer, out, bytes, NULL);
        GOOD(cuMemcpyDtoH_v2(&sum, out, sizeof sum));
        return sum;
}

/* What `sum` finds in a buffer filled with `seed` and passed on so often. */
static unsigned sum_expected(unsigned seed, unsigned passes, size_t bytes)
{
        unsigned sum = 0;

        for (unsigned i = 0; i < bytes / 16; i++) {
                unsigned value = seed + i;
                for (unsigned k = 0; k < passes; k++)
                        value = value * 5 + 1;
                sum += value;
        }
        return sum;
}

/* A share of one card: this much in all, and the ratio of it to the physical part. */
static void begin(const char *limit, const char *ratio)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_RATIO", ratio, 1);
        guest_start(limit);
}

static void begin_oversold(const char *limit)
{
        guest_machine(1);
        setenv("VGPU_MEMORY_OVERSOLD", "true", 1);
        guest_start(limit);
}

/* A sixteenth of the physical part, in whole granules, is left to those who cannot do without the card. */
#define CARD (92 * MIB)

/* Fills the physical part of a share of 200 MiB and ratio 2 as far as that goes. */
static CUdeviceptr begin_full(void)
{
        CUdeviceptr card;

        begin("200m", "2");
        GOOD(cuMemAlloc_v2(&card, CARD));
        CHECK_EQ(guest_card_bytes(0), CARD);
        return card;
}

SIM_TEST(a_ratio_bounds_the_card_and_the_limit_the_whole)
{
        CUdeviceptr buffers[5], more;
        size_t free_bytes, total_bytes;

        begin("200m", "2");
        for (unsigned i = 0; i < 5; i++)
                GOOD(cuMemAlloc_v2(&buffers[i], 40 * MIB));
        GOOD(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        CHECK_EQ(total_bytes, 200 * MIB);
        CHECK_EQ(free_bytes, 0);
        CHECK_EQ(guest_card_bytes(0), 80 * MIB);
        FULL(cuMemAlloc_v2(&more, 1));
        for (unsigned i = 0; i < 5; i++)
                GOOD(cuMemFree_v2(buffers[i]));
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(guest_card_bytes(0), 0);
}

SIM_TEST(one_allocation_may_be_all_there_is)
{
        CUdeviceptr all, more;

        begin("200m", "2");
        FULL(cuMemAlloc_v2(&all, 202 * MIB));
        GOOD(cuMemAlloc_v2(&all, 200 * MIB));
        CHECK_EQ(guest_held(), 200 * MIB);
        FULL(cuMemAlloc_v2(&more, 1));
        GOOD(cuMemFree_v2(all));
        CHECK_EQ(guest_held(), 0);
        GOOD(cuMemAlloc_v2(&all, CARD));
        CHECK_EQ(guest_card_bytes(0), CARD);
}

/* Taking all memory first must not keep a program from loading what uses it. */
SIM_TEST(kernels_can_be_loaded_when_buffers_have_taken_what_they_can)
{
        CUdeviceptr buffers[7], small;

        begin("32m", "2");
        for (unsigned i = 0; i < 7; i++)
                GOOD(cuMemAlloc_v2(&buffers[i], 4 * MIB));
        CHECK(guest_card_bytes(0) < 16 * MIB);
        kernels_load();
        GOOD(cuMemAlloc_v2(&small, 4));
        CHECK(guest_card_bytes(0) <= 16 * MIB);
}

/* They lie together on the card while it has room, and go to the host one by one. */
SIM_TEST(small_allocations_stay_on_the_card_where_there_is_room)
{
        CUdeviceptr small, card = begin_full();

        for (unsigned i = 0; i < 6; i++)
                GOOD(cuMemAlloc_v2(&small, MIB));
        CHECK_EQ(guest_card_bytes(0), CARD + 6 * MIB);
        CHECK_EQ(guest_held(), CARD + 6 * MIB);
        GOOD(cuMemAlloc_v2(&small, 2 * MIB));
        GOOD(cuMemAlloc_v2(&small, 1000));
        CHECK_EQ(guest_card_bytes(0), CARD + 8 * MIB);
        CHECK_EQ(guest_held(), CARD + 8 * MIB + (64 << 10));
        GOOD(cuMemFree_v2(small));
        GOOD(cuMemFree_v2(card));
        CHECK_EQ(guest_held(), 8 * MIB);
}

SIM_TEST(oversold_goes_on_beyond_the_limit_up_to_the_host_s_part)
{
        CUdeviceptr address, more;
        size_t total_bytes = 0, free_bytes;

        begin_oversold("100m");
        GOOD(cuMemAlloc_v2(&address, CARD));
        GOOD(cuMemAlloc_v2(&more, 1024 * MIB)); /* the card's size again */
        GOOD(cuMemAlloc_v2(&address, 8 * MIB)); /* the rest of the card */
        FULL(cuMemAlloc_v2(&address, 1));
        GOOD(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        CHECK_EQ(total_bytes, 100 * MIB);
        CHECK_EQ(free_bytes, 0);
        CHECK_EQ(guest_card_bytes(0), CARD);
        GOOD(cuMemFree_v2(more));
        CHECK_EQ(guest_held(), 100 * MIB);
}

/* Without a limit the share is the whole card, and beyond. */
SIM_TEST(a_whole_card_may_be_oversold)
{
        CUdeviceptr address, more;
        size_t free_bytes, total_bytes;

        guest_machine(1);
        setenv("CUDA_MEM_OVERSOLD", "true", 1);
        setenv("VGPU_OVERSOLD_HOST_MEMORY", "500m", 1);
        guest_start(NULL);
        GOOD(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        CHECK_EQ(total_bytes, 1024 * MIB);
        GOOD(cuMemAlloc_v2(&address, 900 * MIB));
        CHECK_EQ(guest_card_bytes(0), 900 * MIB);
        FULL(cuMemAlloc_v2(&more, 626 * MIB));
        GOOD(cuMemAlloc_v2(&more, 600 * MIB));
        CHECK_EQ(guest_card_bytes(0), 900 * MIB);
        FULL(cuMemAlloc_v2(&address, 26 * MIB));
}

SIM_TEST(a_whole_card_may_be_scaled)
{
        CUdeviceptr address;
        size_t free_bytes, total_bytes;

        guest_machine(1);
        setenv("CUDA_MEM_RATIO_0", "1.5", 1);
        guest_start(NULL);
        GOOD(cuMemGetInfo_v2(&free_bytes, &total_bytes));
        CHECK_EQ(total_bytes, 1536 * MIB);
        FULL(cuMemAlloc_v2(&address, 1538 * MIB));
        GOOD(cuMemAlloc_v2(&address, 1536 * MIB));
}

SIM_TEST(a_card_that_others_have_filled_is_as_good_as_a_full_share)
{
        CUdeviceptr address;

        begin_oversold("800m");
        guest_card_taken(0, 600 * MIB);
        GOOD(cuMemAlloc_v2(&address, 500 * MIB));
        CHECK_EQ(guest_card_bytes(0), 600 * MIB);
        CHECK_EQ(guest_held(), 500 * MIB);
        GOOD(cuMemFree_v2(address));
        CHECK_EQ(guest_held(), 0);
}

SIM_TEST(without_virtual_memory_the_limit_is_the_limit)
{
        CUdeviceptr address;

        begin("200m", "1");
        GOOD(cuMemAlloc_v2(&address, 200 * MIB));
        FULL(cuMemAlloc_v2(&address, 1));
}

/* Twice the card's part, filled by kernels, passed round and summed; the card never holds more. */
static void data_check(unsigned seed, unsigned count, size_t bytes, uint64_t card_bytes)
{
        CUdeviceptr buffers[16], out;

        GOOD(cuMemAlloc_v2(&out, 4));
        for (unsigned i = 0; i < count; i++)
                GOOD(cuMemAlloc_v2(&buffers[i], bytes));
        for (unsigned i = 0; i < count; i++) {
                run(kernels.fill, buffers[i], seed + i, bytes, NULL);
                CHECK(guest_card_bytes(0) <= card_bytes);
        }
        for (unsigned i = 0; i + 1 < count; i++) /* the first one's words reach the last */
                run(kernels.pass, buffers[i], buffers[i + 1], bytes, NULL);
        for (unsigned i = 0; i < count; i++)
                CHECK_EQ(sum_of(buffers[i], out, bytes), sum_expected(seed, i, bytes));
        CHECK(guest_card_bytes(0) <= card_bytes);
        for (unsigned i = 0; i < count; i++)
                GOOD(cuMemFree_v2(buffers[i]));
        GOOD(cuMemFree_v2(out));
}

SIM_TEST(data_is_right_at_twice_the_card_s_part)
{
        begin("32m", "2");
        kernels_load();
        uint64_t module = guest_held();
        data_check(17, 8, 3 * MIB, 16 * MIB);
        CHECK_EQ(guest_held(), module);
}

/* One allocation, part of it on the card. */
SIM_TEST(data_is_right_across_the_edge_of_the_card_s_part)
{
        size_t bytes = 24 * MIB;
        CUdeviceptr all, out;

        begin("32m", "2");
        kernels_load();
        GOOD(cuMemAlloc_v2(&out, 4));
        GOOD(cuMemAlloc_v2(&all, bytes));
        run(kernels.fill, all, 5, bytes, NULL);
        CHECK_EQ(sum_of(all, out, bytes), sum_expected(5, 0, bytes));
        /* The card holds the module, the word, and eight of these. */
        CHECK(guest_card_bytes(0) >= 8 * MIB);
        CHECK(guest_card_bytes(0) <= guest_held() - 16 * MIB);
        CHECK(guest_card_bytes(0) <= 16 * MIB);
}

static int data_child(void)
{
        guest_start(NULL);
        kernels_load();
        data_check((unsigned)getpid(), 7, 3 * MIB, 32 * MIB);
        return 0;
}

static void *data_child_wait(void *unused)
{
        (void)unused;
        return (void *)(intptr_t)sim_in_child(data_child);
}

SIM_TEST(data_is_right_in_two_processes_at_once)
{
        pthread_t other;
        void *code;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "64m", 1);
        setenv("VGPU_MEMORY_RATIO", "2", 1);
        CHECK_EQ(pthread_create(&other, NULL, data_child_wait, NULL), 0);
        CHECK_EQ(sim_in_child(data_child), 0);
        pthread_join(other, &code);
        CHECK_EQ((intptr_t)code, 0);
        CHECK_EQ(guest_card_bytes(0), 0);
}

SIM_TEST(pitched_memory_has_its_pitch_on_the_host_too)
{
        enum { ROWS = 40000 };
        CUdeviceptr card, pitched, nothing;
        size_t pitch = 0;

        begin_full();
        GOOD(cuMemAllocPitch_v2(&pitched, &pitch, 1000, ROWS, 4));
        CHECK_EQ(pitch, 1024);
        CHECK_EQ(guest_card_bytes(0), CARD);
        CHECK(guest_held() >= CARD + ROWS * 1024);
        /* Rows are where the pitch says. */
        GOOD(cuMemsetD2D8_v2(pitched, pitch, 7, 1000, ROWS));
        unsigned char last = 0;
        GOOD(cuMemcpyDtoH_v2(&last, pitched + (ROWS - 1) * pitch + 999, 1));
        CHECK_EQ(last, 7);
        GOOD(cuMemFree_v2(pitched));
        CHECK_EQ(guest_held(), CARD);
        CHECK_EQ(cuMemAllocPitch_v2(&nothing, &pitch, 1000, ROWS, 5), CUDA_ERROR_INVALID_VALUE);
        FULL(cuMemAllocPitch_v2(&card, &pitch, 1 << 20, 109, 4));
}

/* 32-bit pointers cannot name managed memory. */
SIM_TEST(memory_with_32_bit_addresses_stays_on_the_card)
{
        CUdeviceptr_v1 address;
        unsigned int pitch;

        begin_full();
        FULL(cuMemAlloc(&address, 10 * MIB));
        FULL(cuMemAllocPitch(&address, &pitch, 1000, 10000, 4));
}

SIM_TEST(copies_and_fills_reach_it)
{
        CUdeviceptr there, base;
        char text[32] = "";
        size_t bytes;

        CUdeviceptr card = begin_full();
        GOOD(cuMemAlloc_v2(&there, 10 * MIB));
        GOOD(cuMemcpyHtoD_v2(there + 5 * MIB, "over the link", 14));
        GOOD(cuMemcpyDtoD_v2(card, there + 5 * MIB, 14));
        GOOD(cuMemcpyDtoH_v2(text, card, 14));
        CHECK_STR(text, "over the link");
        GOOD(cuMemsetD8_v2(there, 'x', 3));
        GOOD(cuMemcpy(card, there, 3));
        GOOD(cuMemcpyDtoH_v2(text, card, 14));
        CHECK_STR(text, "xxxr the link");
        GOOD(cuMemGetAddressRange_v2(&base, &bytes, there + 5 * MIB));
        CHECK_EQ(base, there);
        CHECK_EQ(bytes, 10 * MIB);
        CHECK_EQ(guest_card_bytes(0), CARD);
}

SIM_TEST(it_passes_for_device_memory)
{
        CUpointer_attribute all[] = {
                CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                CU_POINTER_ATTRIBUTE_IS_MANAGED,
                CU_POINTER_ATTRIBUTE_HOST_POINTER,
                CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        };
        unsigned type = 0;
        char is_managed = 1, is_shareable = 1;
        void *host = &type;
        size_t size = 0;
        CUdeviceptr start = 0, there;
        int ordinal = -1;
        void *values[] = { &type, &is_managed, &host, &size, &start, &ordinal, &is_shareable };

        begin_full();
        GOOD(cuMemAlloc_v2(&there, 10 * MIB));
        GOOD(cuPointerGetAttributes(7, all, values, there + MIB));
        CHECK_EQ(type, CU_MEMORYTYPE_DEVICE);
        CHECK_EQ(is_managed, 0);
        CHECK(host == NULL);
        CHECK_EQ(size, 10 * MIB);
        CHECK_EQ(start, there);
        CHECK_EQ(ordinal, 0);
        CHECK_EQ(is_shareable, 0);
        is_managed = 1;
        GOOD(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, there + MIB));
        CHECK_EQ(is_managed, 0);
        CHECK_EQ(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, there),
                 CUDA_ERROR_INVALID_VALUE);
        /* Past its end is not its business. */
        CHECK_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, there + 64 * MIB),
                 CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(it_cannot_be_shared_and_says_so)
{
        CUipcMemHandle handle;
        CUdeviceptr there;

        CUdeviceptr card = begin_full();
        GOOD(cuMemAlloc_v2(&there, 10 * MIB));
        CHECK_EQ(cuIpcGetMemHandle(&handle, there), CUDA_ERROR_NOT_SUPPORTED);
        GOOD(cuIpcGetMemHandle(&handle, card));
}

SIM_TEST(it_goes_with_its_context)
{
        CUcontext context;
        CUdeviceptr there;

        begin_full();
        GOOD(cuCtxCreate_v2(&context, 0, 0));
        GOOD(cuMemAlloc_v2(&there, 80 * MIB));
        CHECK_EQ(guest_held(), CARD + 80 * MIB);
        GOOD(cuCtxDestroy_v2(context));
        CHECK_EQ(guest_held(), CARD);
        GOOD(cuMemAlloc_v2(&there, 100 * MIB));
}

SIM_TEST(what_a_stream_has_freed_goes_with_its_context)
{
        CUcontext context;
        CUdeviceptr there;

        begin_full();
        GOOD(cuCtxCreate_v2(&context, 0, 0));
        GOOD(cuMemAlloc_v2(&there, 80 * MIB));
        GOOD(cuMemFreeAsync(there, NULL));
        GOOD(cuCtxDestroy_v2(context));
        CHECK_EQ(guest_held(), CARD);
        GOOD(cuMemAlloc_v2(&there, 100 * MIB));
}

SIM_TEST(it_goes_with_its_process)
{
        CUdeviceptr there;

        guest_machine(1);
        setenv("VGPU_MEMORY_RATIO", "2", 1);
        setenv("VGPU_MEMORY_LIMIT", "200m", 1);
        pid_t pid = fork();
        if (pid == 0) {
                guest_start(NULL);
                GOOD(cuMemAlloc_v2(&there, 180 * MIB));
                raise(SIGKILL);
        }
        waitpid(pid, NULL, 0);
        guest_start(NULL);
        GOOD(cuMemAlloc_v2(&there, 200 * MIB));
}

/* Work that waits for the test. */
static struct {
        pthread_mutex_t lock;
} door = { PTHREAD_MUTEX_INITIALIZER };

static void door_pass(void *unused)
{
        (void)unused;
        pthread_mutex_lock(&door.lock);
        pthread_mutex_unlock(&door.lock);
}

SIM_TEST(freed_in_a_stream_s_order_it_serves_the_work_before)
{
        CUdeviceptr there, out, again, more;
        size_t bytes = 12 * MIB;
        CUstream stream;

        begin("32m", "2");
        kernels_load();
        GOOD(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        GOOD(cuMemAlloc_v2(&out, 4));
        uint64_t before = guest_held();
        GOOD(cuMemAlloc_v2(&there, 16 * MIB)); /* of the host's part 4 are left, … */
        pthread_mutex_lock(&door.lock);
        GOOD(cuLaunchHostFunc(stream, door_pass, NULL));
        run(kernels.fill, there, 3, bytes, stream);
        run(kernels.sum, there, out, bytes, stream);
        GOOD(cuMemFreeAsync(there, stream));
        /* … it still counts, and is nobody's to free again, … */
        CHECK_EQ(guest_held(), before + 16 * MIB);
        CHECK_EQ(cuMemFree_v2(there), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemFreeAsync(there, stream), CUDA_ERROR_INVALID_VALUE);
        FULL(cuMemAlloc_v2(&more, 16 * MIB));
        pthread_mutex_unlock(&door.lock);
        GOOD(cuStreamSynchronize(stream));
        /* … until the stream has come past. */
        unsigned sum = 0;
        GOOD(cuMemcpyDtoH_v2(&sum, out, 4));
        CHECK_EQ(sum, sum_expected(3, 0, bytes));
        CHECK_EQ(guest_held(), before);
        GOOD(cuMemAlloc_v2(&again, 16 * MIB));
}

/* The pool of the device, asked for more than the card's part. */
static void stream_ordered(CUresult (*alloc)(CUdeviceptr *, size_t, CUstream),
                           CUresult (*release)(CUdeviceptr, CUstream), CUstream stream)
{
        size_t bytes = 20 * MIB;
        CUdeviceptr first, second, out;
        CUmemoryPool pool, own = NULL;

        kernels_load();
        GOOD(cuMemAlloc_v2(&out, 4));
        uint64_t before = guest_held(), card = guest_card_bytes(0);
        GOOD(alloc(&first, bytes, stream));
        CHECK_EQ(guest_held(), before + bytes);
        CHECK_EQ(guest_card_bytes(0), card);
        GOOD(cuDeviceGetDefaultMemPool(&pool, 0));
        GOOD(cuPointerGetAttribute(&own, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, first));
        CHECK(own == pool);
        run(kernels.fill, first, 9, bytes, stream);
        GOOD(release(first, stream));
        /* The next of its size is the same, after the work that used it: nothing was waited for. */
        GOOD(alloc(&second, bytes, stream));
        CHECK_EQ(second, first);
        GOOD(cuStreamSynchronize(stream));
        CHECK_EQ(sum_of(second, out, bytes), sum_expected(9, 0, bytes));
        CHECK_EQ(guest_held(), before + bytes);
        GOOD(release(second, stream));
        GOOD(cuStreamSynchronize(stream));
        CHECK_EQ(guest_held(), before);
        GOOD(alloc(&first, bytes, stream));
        GOOD(cuMemFree_v2(first));
        CHECK_EQ(guest_held(), before);
}

SIM_TEST(stream_ordered_memory)
{
        CUstream stream;
        CUdeviceptr card;

        begin("100m", "2");
        GOOD(cuMemAlloc_v2(&card, 40 * MIB));
        GOOD(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        stream_ordered(cuMemAllocAsync, cuMemFreeAsync, stream);
}

SIM_TEST(stream_ordered_memory_of_the_thread_s_own_stream)
{
        CUdeviceptr card;

        begin("100m", "2");
        GOOD(cuMemAlloc_v2(&card, 40 * MIB));
        stream_ordered(cuMemAllocAsync_ptsz, cuMemFreeAsync_ptsz, CU_STREAM_PER_THREAD);
        GOOD(cuMemAllocAsync_ptsz(&card, 20 * MIB, NULL));
        GOOD(cuMemFreeAsync_ptsz(card, NULL));
}

/* What names its pool, its handle or its graph is device memory, or is refused. */
SIM_TEST(pools_handles_and_graphs_stay_on_the_card)
{
        CUmemAllocationProp on_card = { .type = CU_MEM_ALLOCATION_TYPE_PINNED };
        CUmemPoolProps properties;
        CUmemGenericAllocationHandle handle;
        CUdeviceptr address;
        CUmemoryPool pool;

        begin_full();
        on_card.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        memset(&properties, 0, sizeof properties);
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        GOOD(cuMemPoolCreate(&pool, &properties));
        FULL(cuMemCreate(&handle, 20 * MIB, &on_card, 0));
        FULL(cuMemAllocFromPoolAsync(&address, 20 * MIB, pool, NULL));
        GOOD(cuDeviceSetMemPool(0, pool));
        FULL(cuMemAllocAsync(&address, 20 * MIB, NULL));
        CHECK_EQ(guest_card_bytes(0), CARD);
}

/* Managed memory by name: 30 MiB of it are the card's, 50 the host's. */
static CUdeviceptr begin_managed(void)
{
        CUdeviceptr there;

        begin("100m", "2");
        GOOD(cuMemAllocManaged(&there, 80 * MIB, CU_MEM_ATTACH_GLOBAL));
        CHECK_EQ(guest_held(), 80 * MIB);
        return there;
}

SIM_TEST(managed_memory_by_name_may_be_virtual_too)
{
        CUdeviceptr there = begin_managed(), more;
        char is_managed = 0;

        GOOD(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, there));
        CHECK_EQ(is_managed, 1);
        kernels_load();
        run(kernels.fill, there, 1, 80 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        CHECK(guest_card_bytes(0) <= 50 * MIB);
        CHECK(guest_card_bytes(0) >= 30 * MIB);
        CHECK_EQ(((unsigned *)(uintptr_t)there)[4 * 79], 80); /* the host reads it, too */
        FULL(cuMemAllocManaged(&more, 40 * MIB, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuMemFree_v2(there));
        CHECK(guest_held() < 10 * MIB);
}

static const CUmemLocation card_0 = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };

/* After each: a kernel comes by, and what is the host's is still there. */
static void card_check(CUdeviceptr there)
{
        run(kernels.fill, there, 1, 80 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        CHECK(guest_card_bytes(0) <= 50 * MIB);
}

SIM_TEST(no_advice_brings_the_host_s_part_onto_the_card)
{
        static const CUmem_advise inviting[] = { CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                                 CU_MEM_ADVISE_UNSET_ACCESSED_BY,
                                                 CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION,
                                                 CU_MEM_ADVISE_SET_READ_MOSTLY };
        CUdeviceptr there = begin_managed();

        kernels_load();
        for (unsigned i = 0; i < 4; i++)
                GOOD(cuMemAdvise_v2(there, 80 * MIB, inviting[i], card_0));
        card_check(there);
        for (unsigned i = 0; i < 4; i++)
                GOOD(cuMemAdvise(there, 80 * MIB, inviting[i], 0));
        card_check(there);
}

SIM_TEST(no_prefetch_brings_the_host_s_part_onto_the_card)
{
        CUdeviceptr there = begin_managed(), parts[2] = { there, there + 40 * MIB };
        size_t sizes[2] = { 20 * MIB, 40 * MIB }, start = 0;
        CUmemLocation to = card_0;

        GOOD(cuMemPrefetchAsync(there, 80 * MIB, 0, NULL));
        GOOD(cuMemPrefetchAsync_v2(there, 80 * MIB, card_0, 0, NULL));
        GOOD(cuMemPrefetchAsync_ptsz(there, 80 * MIB, 0, NULL));
        GOOD(cuMemPrefetchAsync_v2_ptsz(there, 80 * MIB, card_0, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), 0);
        /* Of a batch, the part that is the card's comes. */
        GOOD(cuMemPrefetchBatchAsync(parts, sizes, 2, &to, &start, 1, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), 20 * MIB);
        GOOD(cuMemPrefetchAsync(there, 80 * MIB, CU_DEVICE_CPU, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), 0);
        GOOD(cuMemDiscardAndPrefetchBatchAsync(parts, sizes, 2, &to, &start, 1, 0, NULL));
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), 20 * MIB);
}

SIM_TEST(device_memory_takes_no_advice)
{
        CUdeviceptr there;
        size_t size = 10 * MIB, start = 0;
        CUmemLocation to = card_0;

        begin_full();
        GOOD(cuMemAlloc_v2(&there, size));
        CHECK_EQ(cuMemAdvise(there, size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemPrefetchAsync(there, size, 0, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemPrefetchBatchAsync(&there, &size, 1, &to, &start, 1, 0, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), CARD);
}

/* It belongs to the device it was asked for on, and comes onto no other. */
SIM_TEST(two_devices_have_a_part_each)
{
        CUmemLocation card_1 = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
        CUdeviceptr there, named;
        CUcontext first, second;

        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        setenv("VGPU_MEMORY_RATIO_1", "2", 1);
        guest_start(NULL);
        GOOD(cuCtxGetCurrent(&first));
        FULL(cuMemAlloc_v2(&there, 102 * MIB));
        GOOD(cuCtxCreate_v2(&second, 0, 1));
        GOOD(cuMemAlloc_v2(&there, 50 * MIB)); /* all of it on the host */
        GOOD(cuMemAllocManaged(&named, 20 * MIB, CU_MEM_ATTACH_GLOBAL));
        CHECK_EQ(guest_held(), 70 * MIB);
        GOOD(cuCtxSetCurrent(first));
        CHECK_EQ(guest_held(), 0);
        kernels_load();
        uint64_t code = guest_card_bytes(0);
        run(kernels.fill, there, 1, 50 * MIB, NULL);
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_card_bytes(0), code);
        CHECK_EQ(guest_card_bytes(1), 0);
        CHECK_EQ(cuMemPrefetchAsync_v2(there, 50 * MIB, card_1, 0, NULL), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemFree_v2(there));
        GOOD(cuCtxSetCurrent(second));
        CHECK_EQ(guest_held(), 20 * MIB);
}

/* One of several that take, use and give back at random, and may be killed at it. */
static void racer(unsigned seed)
{
        CUdeviceptr held[8] = { 0 };

        guest_start(NULL);
        kernels_load();
        raise(SIGSTOP); /* until all have theirs: code is the card's */
        for (unsigned turn = 0; turn < 60; turn++) {
                seed = seed * 1103515245 + 12345;
                CUdeviceptr *one = &held[seed >> 16 & 7];
                size_t bytes = (1 + (seed >> 20) % 12) * MIB;
                if (*one) {
                        GOOD(cuMemFree_v2(*one));
                        *one = 0;
                } else if (cuMemAlloc_v2(one, bytes) == CUDA_SUCCESS) {
                        run(kernels.fill, *one, turn, 64 << 10, NULL);
                } else {
                        *one = 0;
                }
        }
        raise(SIGSTOP);
        _exit(0);
}

SIM_TEST(racing_and_killed_processes_never_exceed_the_card_s_part)
{
        enum { RACERS = 6 };
        CUdeviceptr all;
        pid_t pids[RACERS];
        unsigned living = RACERS;

        guest_machine(1);
        setenv("VGPU_MEMORY_LIMIT", "128m", 1);
        setenv("VGPU_MEMORY_RATIO", "2", 1);
        for (unsigned i = 0; i < RACERS; i++) {
                pids[i] = fork();
                if (pids[i] == 0)
                        racer(7919 * i + (unsigned)getpid());
        }
        for (unsigned i = 0; i < RACERS; i++)
                waitpid(pids[i], NULL, WUNTRACED);
        for (unsigned i = 0; i < RACERS; i++)
                kill(pids[i], SIGCONT);
        /* Nobody ends meanwhile but the one who is killed: the card forgets the dead when it is asked,
         * the account when it is short. */
        for (unsigned look = 0; living; look++) {
                int status;
                CHECK(guest_card_bytes(0) <= 64 * MIB);
                if (look == 300)
                        kill(pids[1], SIGKILL);
                pid_t pid = waitpid(look == 300 ? pids[1] : -1, &status,
                                    look == 300 ? 0 : WNOHANG | WUNTRACED);
                CHECK(pid <= 0 || WIFSTOPPED(status) || status == SIGKILL);
                living -= pid > 0;
        }
        for (unsigned i = 0; i < RACERS; i++)
                kill(pids[i], SIGKILL);
        while (wait(NULL) > 0)
                continue;
        guest_start(NULL);
        CHECK_EQ(guest_card_bytes(0), 0);
        GOOD(cuMemAlloc_v2(&all, 128 * MIB));
        CHECK_EQ(guest_held(), 128 * MIB);
}

SIM_TEST(a_forked_child_holds_no_virtual_memory)
{
        CUdeviceptr there;
        int status;

        begin_full();
        GOOD(cuMemAlloc_v2(&there, 50 * MIB));
        pid_t pid = fork();
        if (pid == 0)
                _exit(cuMemFree_v2(there) == CUDA_SUCCESS);
        waitpid(pid, &status, 0);
        CHECK_EQ(status, 0);
        CHECK_EQ(guest_held(), CARD + 50 * MIB);
        GOOD(cuMemFree_v2(there));
        CHECK_EQ(guest_held(), CARD);
}

int main(void)
{
        return RUN(
                CASE(a_ratio_bounds_the_card_and_the_limit_the_whole),
                CASE(one_allocation_may_be_all_there_is),
                CASE(small_allocations_stay_on_the_card_where_there_is_room),
                CASE(kernels_can_be_loaded_when_buffers_have_taken_what_they_can),
                CASE(oversold_goes_on_beyond_the_limit_up_to_the_host_s_part),
                CASE(a_whole_card_may_be_oversold), CASE(a_whole_card_may_be_scaled),
                CASE(a_card_that_others_have_filled_is_as_good_as_a_full_share),
                CASE(without_virtual_memory_the_limit_is_the_limit),
                CASE(data_is_right_at_twice_the_card_s_part),
                CASE(data_is_right_across_the_edge_of_the_card_s_part),
                CASE(data_is_right_in_two_processes_at_once),
                CASE(pitched_memory_has_its_pitch_on_the_host_too),
                CASE(memory_with_32_bit_addresses_stays_on_the_card),
                CASE(copies_and_fills_reach_it), CASE(it_passes_for_device_memory),
                CASE(it_cannot_be_shared_and_says_so), CASE(it_goes_with_its_context),
                CASE(what_a_stream_has_freed_goes_with_its_context), CASE(it_goes_with_its_process),
                CASE(freed_in_a_stream_s_order_it_serves_the_work_before),
                CASE(stream_ordered_memory), CASE(stream_ordered_memory_of_the_thread_s_own_stream),
                CASE(pools_handles_and_graphs_stay_on_the_card),
                CASE(managed_memory_by_name_may_be_virtual_too),
                CASE(no_advice_brings_the_host_s_part_onto_the_card),
                CASE(no_prefetch_brings_the_host_s_part_onto_the_card),
                CASE(device_memory_takes_no_advice), CASE(two_devices_have_a_part_each),
                CASE(racing_and_killed_processes_never_exceed_the_card_s_part),
                CASE(a_forked_child_holds_no_virtual_memory));
}
