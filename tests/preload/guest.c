/* SPDX-License-Identifier: Apache-2.0 */
/* guest: machine, region, context. */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "region.h"
#include "slot.h"
#include "unit_memory.h"

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

uint64_t guest_device_bytes(unsigned gpu)
{
        struct machine *machine = sim_machine_open();
        struct unit_memory memory;

        slot_reap(machine);
        unit_memory(machine, gpu * MACHINE_UNITS_PER_GPU, &memory);
        return memory.used_bytes;
}

void guest_device_taken(unsigned gpu, uint64_t bytes)
{
        assert_int_equal(unit_set_outsider(sim_machine_open(), gpu * MACHINE_UNITS_PER_GPU, bytes),
                         0);
}

uint64_t guest_held(void)
{
        size_t free_bytes, total_bytes;

        assert_int_equal(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
        return total_bytes - free_bytes;
}

uint64_t guest_virtual(void)
{
        struct region region = { 0 };

        assert_int_equal(region_open(getenv("VGPU_REGION"), 1, &region, NULL), 0);
        uint64_t bytes = region_used_bytes(&region, region_virtual(0));
        region_close(&region);
        return bytes;
}

pid_t guest_holder(uint64_t bytes)
{
        CUdeviceptr address;
        int ready[2];
        char byte;

        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        if (pid == 0) {
                guest_start(NULL);
                if (cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS || write(ready[1], "x", 1) != 1)
                        _exit(1);
                pause();
        }
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        return pid;
}

void guest_check_charges(uint64_t limit_bytes)
{
        CHECK_EQ(guest_held(), guest_device_bytes(0));
        CHECK(guest_device_bytes(0) <= limit_bytes);
}

static struct {
        int ask, answer;
} neighbour;

/* Ends with the pipe. */
static void neighbour_run(int ask, int answer)
{
        uint64_t bytes;
        bool is_started = false;

        while (read(ask, &bytes, sizeof bytes) == sizeof bytes) {
                CUdeviceptr address = 0;
                if (!is_started)
                        guest_start(NULL);
                is_started = true;
                int r = (int)cuMemAlloc_v2(&address, bytes);
                if (r == 0)
                        cuMemFree_v2(address);
                if (write(answer, &r, sizeof r) != sizeof r)
                        break;
        }
        _exit(0);
}

void guest_neighbour(void)
{
        int asks[2], answers[2];

        assert_int_equal(pipe(asks), 0);
        assert_int_equal(pipe(answers), 0);
        if (fork() == 0) {
                close(asks[1]);
                close(answers[0]);
                neighbour_run(asks[0], answers[1]);
        }
        close(asks[0]);
        close(answers[1]);
        neighbour.ask = asks[1];
        neighbour.answer = answers[0];
}

CUresult guest_neighbour_gets(uint64_t bytes)
{
        int r = -1;

        assert_int_equal(write(neighbour.ask, &bytes, sizeof bytes), sizeof bytes);
        assert_int_equal(read(neighbour.answer, &r, sizeof r), sizeof r);
        return (CUresult)r;
}

const char *guest_said(void (*act)(void))
{
        static char text[8192];
        char path[] = "/tmp/vgpu-said-XXXXXX";
        int keep = dup(STDERR_FILENO), file = mkstemp(path);

        assert_true(file >= 0);
        unlink(path);
        dup2(file, STDERR_FILENO);
        act();
        dup2(keep, STDERR_FILENO);
        close(keep);
        ssize_t length = pread(file, text, sizeof text - 1, 0);
        text[length > 0 ? length : 0] = '\0';
        close(file);
        return text;
}
