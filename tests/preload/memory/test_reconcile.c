/* SPDX-License-Identifier: Apache-2.0 */
/* The charges follow the driver's own figure for a process, where the two differ. */
#include <unistd.h>

#include "guest.h"
#include "slot.h"
#include "unit_memory.h"

enum { COMPARED_US = 700000 }; /* the figure is read twice a second */

static struct machine_slot *own_slot(struct machine *machine)
{
        for (unsigned i = 0; i < MACHINE_SLOTS; i++)
                if (machine->file->slots[i].state == SLOT_LIVE &&
                    machine->file->slots[i].pid == getpid())
                        return &machine->file->slots[i];
        fail_msg("the GPU does not know this process");
        return NULL;
}

/* The driver takes memory for this process, or gives it up, without having been asked. */
static void driver_takes(uint64_t bytes)
{
        struct machine *machine = sim_machine_open();

        CHECK_EQ(unit_charge(machine, 0, own_slot(machine), bytes), 0);
}

static void driver_gives(uint64_t bytes)
{
        struct machine *machine = sim_machine_open();

        unit_release(machine, 0, own_slot(machine), bytes);
}

/* Twice: the first one's comparison comes after its reservation. */
static void compare_twice(void)
{
        for (unsigned i = 0; i < 2; i++) {
                CUdeviceptr address;
                usleep(COMPARED_US);
                CHECK_EQ(cuMemAlloc_v2(&address, 2 * MIB), CUDA_SUCCESS);
                CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
        }
}

SIM_TEST(what_the_driver_takes_unasked_is_charged)
{
        CUdeviceptr address;

        guest_machine_with(1, 10 * MIB);
        guest_start("100m");
        CHECK_EQ(guest_held(), 10 * MIB);
        driver_takes(30 * MIB);
        compare_twice();
        CHECK_EQ(guest_held(), 40 * MIB);
        CHECK_EQ(cuMemAlloc_v2(&address, 61 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
        guest_check_charges(100 * MIB);
        CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
        driver_gives(30 * MIB);
        compare_twice();
        CHECK_EQ(guest_held(), 10 * MIB);
}

/* A refusal first checks whether the driver still holds all that is charged. */
SIM_TEST(what_the_driver_no_longer_holds_can_be_had_again)
{
        CUdeviceptr gone, address;

        guest_machine_with(1, 10 * MIB);
        guest_start("100m");
        CHECK_EQ(cuMemAlloc_v2(&gone, 80 * MIB), CUDA_SUCCESS);
        driver_gives(60 * MIB);
        usleep(COMPARED_US);
        CHECK_EQ(cuMemAlloc_v2(&address, 70 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 100 * MIB);
        CHECK_EQ(guest_device_bytes(0), 100 * MIB);
        /* What was given back early is not given back again. */
        driver_takes(60 * MIB); /* the simulated driver frees all it noted */
        CHECK_EQ(cuMemFree_v2(gone), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 80 * MIB);
        CHECK_EQ(guest_device_bytes(0), 80 * MIB);
        CHECK_EQ(cuMemFree_v2(address), CUDA_SUCCESS);
        guest_check_charges(100 * MIB);
}

/* Managed memory counts in full, wherever it is; pools by what they keep. */
SIM_TEST(managed_memory_and_pools_are_left_alone)
{
        CUdeviceptr managed, pooled;

        guest_machine_with(1, 10 * MIB);
        guest_start("100m");
        CHECK_EQ(cuMemAllocManaged(&managed, 20 * MIB, 1), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocAsync(&pooled, 20 * MIB, NULL), CUDA_SUCCESS);
        uint64_t held = guest_held();
        compare_twice();
        CHECK_EQ(guest_held(), held);
        CHECK_EQ(cuMemFreeAsync(pooled, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(cuMemFree_v2(managed), CUDA_SUCCESS);
        compare_twice();
        CHECK_EQ(guest_held(), 10 * MIB);
}

int main(void)
{
        return RUN(CASE(what_the_driver_takes_unasked_is_charged),
                   CASE(what_the_driver_no_longer_holds_can_be_had_again),
                   CASE(managed_memory_and_pools_are_left_alone));
}
