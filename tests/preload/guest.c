/* guest: machine, account, context. */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>

#include "slot.h"
#include "../../lib/machine/unit.h"

void guest_machine_with(unsigned gpus, uint64_t context_bytes)
{
        struct machine_spec spec;
        char path[128];

        machine_spec_init(&spec);
        spec.gpu_count = gpus;
        spec.gpu_memory_bytes = 1024 * MIB;
        spec.context_bytes = (int64_t)context_bytes;
        sim_machine_from(&spec);
        snprintf(path, sizeof path, "%s" SIM_REGION, getenv("VGPU_SIM"));
        setenv("VGPU_REGION", path, 1);
}

void guest_machine(unsigned gpus)
{
        guest_machine_with(gpus, 0);
}

void guest_start(const char *limit)
{
        CUcontext context;

        if (limit)
                setenv("VGPU_MEMORY_LIMIT", limit, 1);
        assert_int_equal(cuInit(0), CUDA_SUCCESS);
        assert_int_equal(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
}

uint64_t guest_card_bytes(unsigned gpu)
{
        struct machine *machine = sim_machine_open();
        struct unit_memory memory;

        slot_reap(machine);
        unit_memory(machine, gpu * MACHINE_UNITS_PER_GPU, &memory);
        return memory.used_bytes;
}
