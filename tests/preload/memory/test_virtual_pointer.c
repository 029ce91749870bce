/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory passes for device memory, whatever a program does with it. */
#include <pthread.h>

#include "virtual_case.h"

SIM_TEST(pitched_memory_has_its_pitch_on_the_host_too)
{
        enum { ROWS = 40000 };
        CUdeviceptr gpu, pitched, nothing;
        size_t pitch = 0;

        begin_full();
        GOOD(cuMemAllocPitch_v2(&pitched, &pitch, 1000, ROWS, 4));
        CHECK_EQ(pitch, 1024);
        CHECK_EQ(guest_device_bytes(0), DEVICE);
        CHECK(guest_held() >= DEVICE + ROWS * 1024);
        /* Rows are where the pitch says. */
        GOOD(cuMemsetD2D8_v2(pitched, pitch, 7, 1000, ROWS));
        unsigned char last = 0;
        GOOD(cuMemcpyDtoH_v2(&last, pitched + (ROWS - 1) * pitch + 999, 1));
        CHECK_EQ(last, 7);
        GOOD(cuMemFree_v2(pitched));
        CHECK_EQ(guest_held(), DEVICE);
        CHECK_EQ(cuMemAllocPitch_v2(&nothing, &pitch, 1000, ROWS, 5), CUDA_ERROR_INVALID_VALUE);
        FULL(cuMemAllocPitch_v2(&gpu, &pitch, 1 << 20, 109, 4));
}

/* 32-bit pointers cannot name managed memory. */
SIM_TEST(memory_with_32_bit_addresses_stays_on_the_gpu)
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

        CUdeviceptr gpu = begin_full();
        GOOD(cuMemAlloc_v2(&there, 10 * MIB));
        GOOD(cuMemcpyHtoD_v2(there + 5 * MIB, "over the link", 14));
        GOOD(cuMemcpyDtoD_v2(gpu, there + 5 * MIB, 14));
        GOOD(cuMemcpyDtoH_v2(text, gpu, 14));
        CHECK_STR(text, "over the link");
        GOOD(cuMemsetD8_v2(there, 'x', 3));
        GOOD(cuMemcpy(gpu, there, 3));
        GOOD(cuMemcpyDtoH_v2(text, gpu, 14));
        CHECK_STR(text, "xxxr the link");
        GOOD(cuMemGetAddressRange_v2(&base, &bytes, there + 5 * MIB));
        CHECK_EQ(base, there);
        CHECK_EQ(bytes, 10 * MIB);
        CHECK_EQ(guest_device_bytes(0), DEVICE);
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

        CUdeviceptr gpu = begin_full();
        GOOD(cuMemAlloc_v2(&there, 10 * MIB));
        CHECK_EQ(cuIpcGetMemHandle(&handle, there), CUDA_ERROR_NOT_SUPPORTED);
        GOOD(cuIpcGetMemHandle(&handle, gpu));
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
        GOOD(cuMemAlloc_v2(&there, 16 * MIB)); /* all of the host's part, … */
        CHECK_EQ(guest_virtual(), 16 * MIB);
        pthread_mutex_lock(&door.lock);
        GOOD(cuLaunchHostFunc(stream, door_pass, NULL));
        kernels_run(kernels.fill, there, 3, bytes, stream);
        kernels_run(kernels.sum, there, out, bytes, stream);
        GOOD(cuMemFreeAsync(there, stream));
        /* … it still counts, and is nobody's to free again, … */
        CHECK_EQ(guest_virtual(), 16 * MIB);
        CHECK_EQ(cuMemFree_v2(there), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemFreeAsync(there, stream), CUDA_ERROR_INVALID_VALUE);
        FULL(cuMemAlloc_v2(&more, 16 * MIB));
        pthread_mutex_unlock(&door.lock);
        GOOD(cuStreamSynchronize(stream));
        /* … until the stream has come past. */
        unsigned sum = 0;
        GOOD(cuMemcpyDtoH_v2(&sum, out, 4));
        CHECK_EQ(sum, kernels_sum_expected(3, 0, bytes));
        guest_held(); /* who asks, finds it free */
        CHECK_EQ(guest_virtual(), 0);
        GOOD(cuMemAlloc_v2(&again, 16 * MIB));
}

/* The pool of the device, asked for more than the GPU's part. */
static void stream_ordered(CUresult (*alloc)(CUdeviceptr *, size_t, CUstream),
                           CUresult (*release)(CUdeviceptr, CUstream), CUstream stream)
{
        size_t bytes = 20 * MIB;
        CUdeviceptr first, second, out;
        CUmemoryPool pool, own = NULL;

        kernels_load();
        GOOD(cuMemAlloc_v2(&out, 4));
        uint64_t gpu = guest_device_bytes(0);
        GOOD(alloc(&first, bytes, stream));
        CHECK_EQ(guest_virtual(), bytes);
        CHECK_EQ(guest_device_bytes(0), gpu);
        GOOD(cuDeviceGetDefaultMemPool(&pool, 0));
        GOOD(cuPointerGetAttribute(&own, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, first));
        CHECK(own == pool);
        kernels_run(kernels.fill, first, 9, bytes, stream);
        GOOD(release(first, stream));
        /* The next of its size is the same, after the work that used it: nothing was waited for. */
        GOOD(alloc(&second, bytes, stream));
        CHECK_EQ(second, first);
        GOOD(cuStreamSynchronize(stream));
        CHECK_EQ(kernels_sum(second, out, bytes), kernels_sum_expected(9, 0, bytes));
        CHECK_EQ(guest_virtual(), bytes);
        GOOD(release(second, stream));
        GOOD(cuStreamSynchronize(stream));
        guest_held(); /* who asks, finds it free */
        CHECK_EQ(guest_virtual(), 0);
        GOOD(alloc(&first, bytes, stream));
        GOOD(cuMemFree_v2(first));
        CHECK_EQ(guest_virtual(), 0);
        CHECK_EQ(guest_device_bytes(0), gpu);
}

SIM_TEST(stream_ordered_memory)
{
        CUstream stream;
        CUdeviceptr gpu;

        begin("100m", "2");
        GOOD(cuMemAlloc_v2(&gpu, 40 * MIB));
        GOOD(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        stream_ordered(cuMemAllocAsync, cuMemFreeAsync, stream);
}

SIM_TEST(stream_ordered_memory_of_the_thread_s_own_stream)
{
        CUdeviceptr gpu;

        begin("100m", "2");
        GOOD(cuMemAlloc_v2(&gpu, 40 * MIB));
        stream_ordered(cuMemAllocAsync_ptsz, cuMemFreeAsync_ptsz, CU_STREAM_PER_THREAD);
        GOOD(cuMemAllocAsync_ptsz(&gpu, 20 * MIB, NULL));
        GOOD(cuMemFreeAsync_ptsz(gpu, NULL));
}

SIM_TEST(device_memory_takes_no_advice)
{
        CUdeviceptr there;
        size_t size = 10 * MIB, start = 0;
        CUmemLocation to = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };

        begin_full();
        GOOD(cuMemAlloc_v2(&there, size));
        CHECK_EQ(cuMemAdvise(there, size, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemPrefetchAsync(there, size, 0, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemPrefetchBatchAsync(&there, &size, 1, &to, &start, 1, 0, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        GOOD(cuCtxSynchronize());
        CHECK_EQ(guest_device_bytes(0), DEVICE);
}

/* The driver's answers for the one are those for the other, to every question about managed memory. */
SIM_TEST(it_has_no_properties_of_managed_memory)
{
        CUmem_range_attribute which = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
        CUdeviceptr both[2] = { begin_full() };
        int value = 0;
        void *values = &value;
        size_t size = sizeof value, bytes = MIB;
        CUstream stream;

        GOOD(cuMemAlloc_v2(&both[1], 10 * MIB));
        GOOD(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK_EQ(guest_virtual(), 10 * MIB);
        for (unsigned i = 0; i < 2; i++) {
                CHECK_EQ(cuMemRangeGetAttribute(&value, size, which, both[i], bytes),
                         CUDA_ERROR_INVALID_VALUE);
                CHECK_EQ(cuMemRangeGetAttributes(&values, &size, &which, 1, both[i], bytes),
                         CUDA_ERROR_INVALID_VALUE);
                CHECK_EQ(cuStreamAttachMemAsync(stream, both[i], 0, CU_MEM_ATTACH_SINGLE),
                         CUDA_ERROR_INVALID_VALUE);
                CHECK_EQ(cuStreamAttachMemAsync_ptsz(NULL, both[i], 0, CU_MEM_ATTACH_HOST),
                         CUDA_ERROR_INVALID_VALUE);
                CHECK_EQ(cuMemDiscardBatchAsync(&both[i], &bytes, 1, 0, stream),
                         CUDA_ERROR_INVALID_VALUE);
        }
}

int main(void)
{
        return RUN(
                CASE(pitched_memory_has_its_pitch_on_the_host_too),
                CASE(memory_with_32_bit_addresses_stays_on_the_gpu),
                CASE(copies_and_fills_reach_it), CASE(it_passes_for_device_memory),
                CASE(it_cannot_be_shared_and_says_so),
                CASE(freed_in_a_stream_s_order_it_serves_the_work_before),
                CASE(stream_ordered_memory), CASE(stream_ordered_memory_of_the_thread_s_own_stream),
                CASE(device_memory_takes_no_advice), CASE(it_has_no_properties_of_managed_memory));
}
