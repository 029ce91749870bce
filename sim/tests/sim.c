/* SPDX-License-Identifier: Apache-2.0 */
/* sim: a machine and a fresh process for each case. */
#include "sim.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slot.h"

static int child_wait(pid_t child)
{
        int status = 0;

        while (waitpid(child, &status, 0) < 0)
                ;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* What the case's processes left in shared memory goes with the machine. */
static void machine_remove(const char *path)
{
        struct machine machine;

        if (machine_open(path, &machine, NULL) == 0) {
                slot_reap(&machine);
                machine_close(&machine);
        }
        unlink(path);
}

void sim_run(void (*body)(void))
{
        static unsigned number;
        char path[64];

        snprintf(path, sizeof path, "/dev/shm/vgpu-test-%d-%u", (int)getpid(), number++);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
                setenv("VGPU_SIM", path, 1);
                /* A failed check must not go back to cmocka's loop in this process. */
                setenv("CMOCKA_TEST_ABORT", "1", 1);
                body();
                fflush(NULL);
                _exit(0);
        }
        int code = child_wait(child);
        machine_remove(path);
        strcat(path, SIM_REGION);
        unlink(path);
        if (code)
                fail_msg("the case ended with %d", code);
}

void sim_machine_from(const struct machine_spec *spec)
{
        struct err e = { 0 };

        if (machine_create(getenv("VGPU_SIM"), spec, &e) < 0)
                fail_msg("%s", e.text);
}

void sim_machine(const char *preset, unsigned gpu_count)
{
        struct machine_spec spec;

        machine_spec_init(&spec);
        spec.preset = preset;
        spec.gpu_count = gpu_count;
        sim_machine_from(&spec);
}

struct machine *sim_machine_open(void)
{
        static struct machine machine;
        struct err e = { 0 };

        if (machine_open(getenv("VGPU_SIM"), &machine, &e) < 0)
                fail_msg("%s", e.text);
        return &machine;
}

int sim_in_child(int (*body)(void))
{
        fflush(NULL);
        pid_t child = fork();

        if (child == 0)
                _exit(body());
        return child_wait(child);
}
