/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of mapped memory: handles, addresses, access, and the order in which they go. */
#include <sys/wait.h>
#include <unistd.h>

#include "fd_pass.h"
#include "memory_fixture.h"

static const CUmemAllocationProp props = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};
static const CUmemAccessDesc full = {
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

SIM_TEST(the_charge_lives_until_released_and_unmapped)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemAddressReserve(&at, 8 * MIB, 0, 0, 0));
        CHECK_EQ(before, free_bytes());
        GOOD(cuMemCreate(&handle, 4 * MIB, &props, 0));
        CHECK_EQ(before - free_bytes(), 4 * MIB);
        GOOD(cuMemMap(at, 4 * MIB, 0, handle, 0));
        GOOD(cuMemRelease(handle));
        CHECK_EQ(before - free_bytes(), 4 * MIB);
        CHECK_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemAddressFree(at, 8 * MIB), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemUnmap(at, 4 * MIB));
        CHECK_EQ(before, free_bytes());
        GOOD(cuMemAddressFree(at, 8 * MIB));
        CHECK_EQ(cuMemAddressFree(at, 8 * MIB), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(a_range_may_hold_several_handles)
{
        enum { BYTES = 6 << 20 };
        CUmemGenericAllocationHandle one, two;
        char *sent = malloc(BYTES), *back = malloc(BYTES);
        CUdeviceptr at;

        one_gpu();
        scramble(sent, BYTES, 7);
        GOOD(cuMemAddressReserve(&at, BYTES, 0, 0, 0));
        GOOD(cuMemCreate(&one, 2 * MIB, &props, 0));
        GOOD(cuMemCreate(&two, 4 * MIB, &props, 0));
        GOOD(cuMemMap(at, 2 * MIB, 0, one, 0));
        GOOD(cuMemMap(at + 2 * MIB, 4 * MIB, 0, two, 0));
        CHECK_EQ(cuMemMap(at + 2 * MIB, 2 * MIB, 0, one, 0), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemSetAccess(at, BYTES, &full, 1));
        GOOD(cuMemcpyHtoD_v2(at, sent, BYTES));
        GOOD(cuMemcpyDtoH_v2(back, at, BYTES));
        CHECK(!memcmp(sent, back, BYTES));
        CHECK_EQ(cuMemcpyDtoH_v2(back, at + 1, BYTES), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemUnmap(at, BYTES));
        CHECK_EQ(cuMemcpyDtoH_v2(back, at, 1), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemMap(at, 4 * MIB, 0, two, 0));
        GOOD(cuMemSetAccess(at, 4 * MIB, &full, 1));
        GOOD(cuMemcpyDtoH_v2(back, at, 4 << 20));
        CHECK(!memcmp(sent + (2 << 20), back, 4 << 20));
}

SIM_TEST(one_handle_at_two_addresses_is_one_memory)
{
        CUmemGenericAllocationHandle handle, again;
        CUdeviceptr at;
        int sent = 5, back = 0;

        one_gpu();
        GOOD(cuMemAddressReserve(&at, 4 * MIB, 4 * MIB, 0, 0));
        CHECK_EQ(at % (4 * MIB), 0);
        GOOD(cuMemCreate(&handle, 2 * MIB, &props, 0));
        GOOD(cuMemMap(at, 2 * MIB, 0, handle, 0));
        GOOD(cuMemMap(at + 2 * MIB, 2 * MIB, 0, handle, 0));
        GOOD(cuMemSetAccess(at, 4 * MIB, &full, 1));
        GOOD(cuMemcpyHtoD_v2(at + 100, &sent, 4));
        GOOD(cuMemcpyDtoH_v2(&back, at + 2 * MIB + 100, 4));
        CHECK_EQ(back, 5);
        GOOD(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(at + 17)));
        CHECK_EQ(again, handle);
        GOOD(cuMemRelease(handle));
        GOOD(cuMemRelease(again));
        CHECK_EQ(cuMemRelease(again), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(access_and_properties_are_told)
{
        CUmemGenericAllocationHandle handle;
        CUmemAllocationProp found;
        unsigned long long flags;
        size_t granularity;
        CUdeviceptr at;

        one_gpu();
        GOOD(cuMemGetAllocationGranularity(&granularity, &props, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        CHECK_EQ(granularity, 2 * MIB);
        CHECK_EQ(cuMemCreate(&handle, 1 * MIB, &props, 0), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemCreate(&handle, 2048 * MIB, &props, 0), CUDA_ERROR_OUT_OF_MEMORY);
        GOOD(cuMemCreate(&handle, 2 * MIB, &props, 0));
        GOOD(cuMemGetAllocationPropertiesFromHandle(&found, handle));
        CHECK(!memcmp(&found, &props, sizeof props));
        GOOD(cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0));
        CHECK_EQ(cuMemSetAccess(at, 2 * MIB, &full, 1), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemMap(at, 2 * MIB, 0, handle, 0));
        GOOD(cuMemGetAccess(&flags, &full.location, at));
        CHECK_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        GOOD(cuMemSetAccess(at, 2 * MIB, &full, 1));
        GOOD(cuMemGetAccess(&flags, &full.location, at));
        CHECK_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        CHECK_EQ(cuMemFree_v2(at), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemGetAllocationPropertiesFromHandle(&found, 0x1234), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(huge_reservations_cost_nothing)
{
        CUdeviceptr at, other;

        one_gpu();
        GOOD(cuMemAddressReserve(&at, UINT64_C(1) << 40, 0, 0, 0));
        GOOD(cuMemAddressReserve(&other, UINT64_C(32) << 30, 0, 0, 0));
        GOOD(cuMemAddressFree(at, UINT64_C(1) << 40));
        GOOD(cuMemAddressReserve(&at, 2 * MIB, 0, at, 0));
        CHECK_EQ(cuMemAddressReserve(&at, 1000, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemAddressReserve(&at, UINT64_C(1) << 60, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

static int sockets[2];

/* The importer: reads what the exporter wrote, adds one to it. */
static int importer(void)
{
        CUmemGenericAllocationHandle handle;
        CUcontext context;
        CUdeviceptr at;
        size_t free_now, total;
        int value = 0, fd = fd_receive(sockets[1]);

        if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
                return 1;
        if (cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
                return 2;
        if (cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0) || cuMemMap(at, 2 * MIB, 0, handle, 0) ||
            cuMemSetAccess(at, 2 * MIB, &full, 1))
                return 3;
        if (cuMemcpyDtoH_v2(&value, at + MIB, 4) || value != 41)
                return 4;
        value++;
        if (cuMemcpyHtoD_v2(at + MIB, &value, 4) || cuMemGetInfo_v2(&free_now, &total))
                return 5;
        return total - free_now == 2 * MIB ? 0 : 6;
}

SIM_TEST(another_process_maps_an_exported_handle)
{
        CUmemGenericAllocationHandle handle;
        CUdeviceptr at;
        int value = 41, fd = -1, status = 0;

        machine_small(1, 256 * MIB, 0);
        CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
        pid_t child = fork();
        if (child == 0)
                _exit(importer());
        GOOD(cuInit(0));
        context_on(0);
        GOOD(cuMemCreate(&handle, 2 * MIB, &props, 0));
        GOOD(cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0));
        GOOD(cuMemMap(at, 2 * MIB, 0, handle, 0));
        GOOD(cuMemSetAccess(at, 2 * MIB, &full, 1));
        GOOD(cuMemcpyHtoD_v2(at + MIB, &value, 4));
        GOOD(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          0));
        fd_send(sockets[0], fd);
        CHECK_EQ(close(fd), 0);
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        GOOD(cuMemcpyDtoH_v2(&value, at + MIB, 4));
        CHECK_EQ(value, 42);
        GOOD(cuMemUnmap(at, 2 * MIB));
        GOOD(cuMemRelease(handle));
        CHECK_EQ(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)sockets[0],
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(free_bytes(), 256 * MIB);
}

int main(void)
{
        return RUN(CASE(the_charge_lives_until_released_and_unmapped),
                   CASE(a_range_may_hold_several_handles),
                   CASE(one_handle_at_two_addresses_is_one_memory),
                   CASE(access_and_properties_are_told), CASE(huge_reservations_cost_nothing),
                   CASE(another_process_maps_an_exported_handle));
}
