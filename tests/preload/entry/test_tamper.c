/* SPDX-License-Identifier: Apache-2.0 */
/* A region that is deleted or written by hand while it is in use: noticed, and no more memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "guest.h"
#include "region.h"

enum { NOTICED_US = 700000 }; /* it is checked twice a second */

/* A process of the container that holds something. */
static CUdeviceptr tenant_start(void)
{
        CUdeviceptr address = 0;

        guest_machine(1);
        guest_start("100m");
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
        return address;
}

static void region_write(size_t offset, uint64_t value)
{
        int fd = open(getenv("VGPU_REGION"), O_RDWR);

        CHECK_EQ(pwrite(fd, &value, sizeof value, (off_t)offset), sizeof value);
        close(fd);
}

/* Whoever checks needs a processor for it; a busy host takes its time. */
static bool is_noticed(void)
{
        enum { TRIES = 20 };
        CUdeviceptr address;

        for (unsigned i = 0; i < TRIES; i++) {
                usleep(NOTICED_US);
                if (cuMemAlloc_v2(&address, 2 * MIB) == CUDA_ERROR_OUT_OF_MEMORY)
                        return true;
                cuMemFree_v2(address);
        }
        return false;
}

static void check_refused(CUdeviceptr held)
{
        CUdeviceptr address;
        CUcontext context;

        CHECK(is_noticed());
        CHECK_EQ(cuMemAllocManaged(&address, 2 * MIB, 1), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemFree_v2(held), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(guest_device_bytes(0), 0);
}

SIM_TEST(a_deleted_region)
{
        CUdeviceptr held = tenant_start();

        CHECK_EQ(unlink(getenv("VGPU_REGION")), 0);
        check_refused(held);
}

SIM_TEST(charges_of_zeros)
{
        CUdeviceptr held = tenant_start();

        region_write(offsetof(struct region_file, devices), 0);
        check_refused(held);
}

/* The word and the process's part, so that they agree. */
SIM_TEST(charges_that_add_up_but_are_not_ours)
{
        CUdeviceptr held = tenant_start();
        size_t slot = offsetof(struct region_file, slots) + sizeof(struct region_slot);
        size_t charges = slot + offsetof(struct region_slot, charges);

        region_write(offsetof(struct region_file, devices), 0);
        region_write(charges + offsetof(struct region_charges, held), 0);
        region_write(charges + offsetof(struct region_charges, intent), 0);
        check_refused(held);
}

/* The charges of what lies on the host instead of the device. */
SIM_TEST(virtual_charges_of_zeros)
{
        CUdeviceptr there = 0;

        setenv("VGPU_MEMORY_RATIO", "2", 1);
        guest_machine(1);
        guest_start("200m");
        CHECK_EQ(cuMemAlloc_v2(&there, 98 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
        region_write(offsetof(struct region_file, devices[REGION_DEVICES]), 0);
        check_refused(there);
}

SIM_TEST(a_region_that_nobody_touched)
{
        CUdeviceptr held = tenant_start(), address;

        usleep(NOTICED_US);
        CHECK_EQ(cuMemAlloc_v2(&address, 40 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemFree_v2(held), CUDA_SUCCESS);
        guest_check_charges(100 * MIB);
}

int main(void)
{
        return RUN(CASE(a_deleted_region), CASE(charges_of_zeros),
                   CASE(charges_that_add_up_but_are_not_ours), CASE(virtual_charges_of_zeros),
                   CASE(a_region_that_nobody_touched));
}
