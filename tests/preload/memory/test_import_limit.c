/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is imported or only mapped is charged once, to whoever made it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define BY_FILE CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static const CUmemAllocationProp physical = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = BY_FILE,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
};

static void check_held(uint64_t bytes)
{
        CHECK_EQ(guest_held(), bytes);
        guest_check_charges(100 * MIB);
}

SIM_TEST(physical_memory_that_is_imported)
{
        CUmemGenericAllocationHandle made, imported;
        CUdeviceptr at;
        int fd = -1;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemCreate(&made, 60 * MIB, &physical, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemExportToShareableHandle(&fd, made, BY_FILE, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)fd, BY_FILE),
                 CUDA_SUCCESS);
        check_held(60 * MIB);
        CHECK_EQ(cuMemAddressReserve(&at, 60 * MIB, 0, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemMap(at, 60 * MIB, 0, imported, 0), CUDA_SUCCESS);
        check_held(60 * MIB);
        CHECK_EQ(cuMemRelease(imported), CUDA_SUCCESS);
        CHECK_EQ(cuMemUnmap(at, 60 * MIB), CUDA_SUCCESS);
        check_held(60 * MIB);
        CHECK_EQ(close(fd), 0);
        CHECK_EQ(cuMemRelease(made), CUDA_SUCCESS);
        check_held(0);
}

SIM_TEST(a_pool_and_a_pointer_that_are_imported)
{
        const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .handleTypes = BY_FILE,
                                       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
        CUmemPoolPtrExportData data;
        CUmemoryPool pool, imported;
        CUdeviceptr a, b;
        int fd = -1;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocFromPoolAsync(&a, 60 * MIB, pool, NULL), CUDA_SUCCESS);
        uint64_t held = guest_held();
        CHECK(held >= 60 * MIB);
        CHECK_EQ(cuMemPoolExportToShareableHandle(&fd, pool, BY_FILE, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd, BY_FILE, 0),
                 CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolExportPointer(&data, a), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolImportPointer(&b, imported, &data), CUDA_SUCCESS);
        check_held(held);
        CHECK_EQ(cuMemFreeAsync(b, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        check_held(held);
        CHECK_EQ(cuMemFreeAsync(a, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolDestroy(imported), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), guest_device_bytes(0));
}

/* These take no memory of their own; a driver that lacks them says so through us. */
SIM_TEST(multicast_objects_and_external_memory_change_no_charge)
{
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC description;
        CUmemGenericAllocationHandle object, made;
        CUexternalMemory external;
        uint64_t props[4] = { 1, 2 * MIB }; /* devices, size, handle types, flags */

        memset(&description, 0, sizeof description);
        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemCreate(&made, 40 * MIB, &physical, 0), CUDA_SUCCESS);
        if (cuMulticastCreate(&object, (const CUmulticastObjectProp *)props) == CUDA_SUCCESS)
                cuMulticastBindMem(object, 0, made, 0, 2 * MIB, 0);
        check_held(40 * MIB);
        cuImportExternalMemory(&external, &description);
        check_held(40 * MIB);
}

/* What the driver tells of its own pools is the process's own, and stays as it is. */
SIM_TEST(pools_and_graph_memory_tell_what_the_ledger_holds)
{
        cuuint64_t reserved = 0, used = 0, graphs = 1;
        CUmemoryPool pool;
        CUdeviceptr a;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuDeviceGetMemPool(&pool, 0), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocAsync(&a, 10 * MIB, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved),
                 CUDA_SUCCESS);
        CHECK_EQ(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used),
                 CUDA_SUCCESS);
        CHECK_EQ(reserved, guest_held());
        CHECK_EQ(used, 10 * MIB);
        CHECK_EQ(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &graphs),
                 CUDA_SUCCESS);
        CHECK_EQ(graphs, 0);
}

int main(void)
{
        return RUN(CASE(physical_memory_that_is_imported),
                   CASE(a_pool_and_a_pointer_that_are_imported),
                   CASE(multicast_objects_and_external_memory_change_no_charge),
                   CASE(pools_and_graph_memory_tell_what_the_ledger_holds));
}
