/* SPDX-License-Identifier: Apache-2.0 */
/* Every version and alias of a function is held to the limit, not only today's; and what each of them
 * gives back, the others of the container can have. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

static void begin(const char *limit)
{
        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT", limit, 1);
        guest_neighbour();
        guest_start(NULL);
}

SIM_TEST(memory_with_32_bit_addresses)
{
        CUdeviceptr_v1 a, b;
        unsigned int pitch;

        begin("100m");
        CHECK_EQ(cuMemAlloc(&a, 60 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 60 * MIB);
        guest_check_charges(100 * MIB);
        CHECK_EQ(cuMemAlloc(&b, 60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFree(a), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocPitch(&a, &pitch, 1000, 60 * 1024, 4), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 60 * MIB);
        CHECK_EQ(cuMemAllocPitch(&b, &pitch, 1000, 60 * 1024, 4), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFree(a), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

SIM_TEST(the_gpu_shown_by_old_versions)
{
        unsigned int free_bytes, total_bytes;
        CUdeviceptr address;

        begin("100m");
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemGetInfo(&free_bytes, &total_bytes), CUDA_SUCCESS);
        CHECK_EQ(total_bytes, 100 * MIB);
        CHECK_EQ(free_bytes, 40 * MIB);
        CHECK_EQ(cuDeviceTotalMem(&total_bytes, 0), CUDA_SUCCESS);
        CHECK_EQ(total_bytes, 100 * MIB);
}

SIM_TEST(arrays_of_the_first_version)
{
        CUDA_ARRAY_DESCRIPTOR_v1 flat;
        CUDA_ARRAY3D_DESCRIPTOR_v1 deep;
        CUarray a, b;

        memset(&flat, 0, sizeof flat);
        flat.Width = flat.Height = 1024;
        flat.NumChannels = 4;
        flat.Format = CU_AD_FORMAT_FLOAT;
        memset(&deep, 0, sizeof deep);
        deep.Width = deep.Height = 1024;
        deep.Depth = 1;
        deep.NumChannels = 4;
        deep.Format = CU_AD_FORMAT_FLOAT;
        begin("24m");
        CHECK_EQ(cuArrayCreate(&a, &flat), CUDA_SUCCESS);
        CHECK(guest_held() >= 16 * MIB);
        guest_check_charges(24 * MIB);
        CHECK_EQ(cuArrayCreate(&b, &flat), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuArrayDestroy(a), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(24 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuArray3DCreate(&a, &deep), CUDA_SUCCESS);
        CHECK(guest_held() >= 16 * MIB);
        guest_check_charges(24 * MIB);
        CHECK_EQ(cuArray3DCreate(&b, &deep), CUDA_ERROR_OUT_OF_MEMORY);
}

static const char code[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                           ".global .align 4 .b8 table[4194304];\n.visible .entry k() { ret; }\n";

static CUresult from_file(CUmodule *module)
{
        char path[] = "/tmp/vgpu-code-XXXXXX";
        int fd = mkstemp(path);

        assert_int_equal(write(fd, code, strlen(code)), strlen(code));
        close(fd);
        CUresult r = cuModuleLoad(module, path);
        unlink(path);
        return r;
}

static CUresult from_data(CUmodule *module)
{
        return cuModuleLoadData(module, code);
}
static CUresult from_binary(CUmodule *module)
{
        return cuModuleLoadFatBinary(module, code);
}
static CUresult with_options(CUmodule *module)
{
        return cuModuleLoadDataEx(module, code, 0, NULL, NULL);
}

SIM_TEST(every_way_to_load_a_module)
{
        CUresult (*const ways[])(CUmodule *) = { from_file, from_data, from_binary, with_options };
        CUmodule module, second;

        begin("7m");
        for (unsigned i = 0; i < 4; i++) {
                CHECK_EQ(ways[i](&module), CUDA_SUCCESS);
                CHECK(guest_held() >= 4 * MIB);
                guest_check_charges(7 * MIB);
                CHECK_EQ(ways[i](&second), CUDA_ERROR_OUT_OF_MEMORY);
                CHECK_EQ(cuModuleUnload(module), CUDA_SUCCESS);
                CHECK_EQ(guest_neighbour_gets(6 * MIB), CUDA_SUCCESS);
                CHECK_EQ(guest_device_bytes(0), 0);
        }
}

/* A pool that keeps nothing more: what it had can be had by others. */
SIM_TEST(a_pool_that_is_told_to_keep_less_or_ends)
{
        cuuint64_t all = UINT64_MAX, none = 0;
        CUmemPoolProps properties;
        CUmemoryPool pool;
        CUdeviceptr a;
        CUstream stream;

        memset(&properties, 0, sizeof properties);
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        begin("100m");
        CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all),
                 CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
        /* The device's own pool keeps nothing from the start. */
        CHECK_EQ(cuMemAllocAsync(&a, 60 * MIB, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(cuDeviceGetMemPool(&pool, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none),
                 CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

/* Destroyed, a pool lives on until the last of its allocations is freed. */
SIM_TEST(a_destroyed_pool_counts_while_something_of_it_is_used)
{
        CUmemPoolProps properties;
        CUmemoryPool pool;
        CUdeviceptr a;

        memset(&properties, 0, sizeof properties);
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        begin("100m");
        CHECK_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 60 * MIB);
        guest_check_charges(100 * MIB);
        CHECK_EQ(guest_neighbour_gets(60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFree_v2(a), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

/* A pool of the second device, made while the first one's context is current. */
SIM_TEST(a_pool_belongs_to_the_device_it_was_made_for)
{
        CUmemPoolProps properties;
        CUcontext first, second;
        CUmemoryPool pool;
        CUdeviceptr a, b;
        CUstream stream;

        guest_machine(2);
        setenv("VGPU_MEMORY_LIMIT_0", "100m", 1);
        setenv("VGPU_MEMORY_LIMIT_1", "40m", 1);
        guest_start(NULL);
        CHECK_EQ(cuCtxGetCurrent(&first), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&second, 0, 1), CUDA_SUCCESS);
        CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);
        memset(&properties, 0, sizeof properties);
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.id = 1;
        CHECK_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 30 * MIB, pool, stream), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(guest_device_bytes(1), 30 * MIB);
        /* From a stream of the first. */
        CHECK_EQ(cuMemFreeAsync(a, stream), CUDA_SUCCESS);
        CHECK_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 30 * MIB, pool, NULL), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(guest_device_bytes(1), 30 * MIB);
        /* The second device's own pool, from a stream of the first. */
        CHECK_EQ(cuDeviceGetDefaultMemPool(&pool, 1), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&b, 60 * MIB, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(1), 30 * MIB);
        /* The device's own pool, by the stream alone. */
        CHECK_EQ(cuMemAllocAsync(&b, 30 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAllocAsync(&b, 10 * MIB, stream), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 0);
        CHECK_EQ(guest_device_bytes(1), 40 * MIB);
        CHECK_EQ(cuMemAllocAsync(&b, 2 * MIB, stream), CUDA_ERROR_OUT_OF_MEMORY);
}

SIM_TEST(the_threads_own_stream)
{
        CUmemoryPool pool;
        CUdeviceptr a, b;

        begin("100m");
        CHECK_EQ(cuDeviceGetMemPool(&pool, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocAsync_ptsz(&a, 40 * MIB, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync_ptsz(&b, 40 * MIB, pool, NULL), CUDA_SUCCESS);
        guest_check_charges(100 * MIB);
        CHECK(guest_held() >= 80 * MIB);
        CHECK_EQ(cuMemFreeAsync_ptsz(a, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync_ptsz(b, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

/* A plain allocation freed in stream order: given back at once. */
SIM_TEST(plain_memory_freed_in_stream_order)
{
        CUdeviceptr a;

        begin("100m");
        CHECK_EQ(cuMemAlloc_v2(&a, 60 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemFreeAsync(a, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(guest_neighbour_gets(100 * MIB), CUDA_SUCCESS);
}

SIM_TEST(without_a_context_the_driver_says_so)
{
        CUdeviceptr address;
        size_t pitch;

        begin("100m");
        CHECK_EQ(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 4096), CUDA_ERROR_INVALID_CONTEXT);
        CHECK_EQ(cuMemAllocPitch_v2(&address, &pitch, 64, 64, 4), CUDA_ERROR_INVALID_CONTEXT);
        CHECK_EQ(cuMemAllocManaged(&address, 4096, CU_MEM_ATTACH_GLOBAL),
                 CUDA_ERROR_INVALID_CONTEXT);
}

int main(void)
{
        return RUN(CASE(memory_with_32_bit_addresses), CASE(the_gpu_shown_by_old_versions),
                   CASE(arrays_of_the_first_version), CASE(every_way_to_load_a_module),
                   CASE(a_pool_that_is_told_to_keep_less_or_ends),
                   CASE(a_destroyed_pool_counts_while_something_of_it_is_used),
                   CASE(a_pool_belongs_to_the_device_it_was_made_for), CASE(the_threads_own_stream),
                   CASE(plain_memory_freed_in_stream_order),
                   CASE(without_a_context_the_driver_says_so));
}
