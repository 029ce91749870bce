/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs and programs as `vgpu ps` and `vgpu top` are told of them by libnvidia-ml.so.1. */
#include <string.h>

#include "nvml_fixture.h"
#include "snapshot_gpu.h"

/* The two that are snapshot.c's. */
struct gpu_view *snapshot_gpu(const struct snapshot *snapshot, const char *uuid)
{
        for (size_t i = 0; i < snapshot->gpus.count; i++) {
                struct gpu_view *gpu = vec_at(&snapshot->gpus, i);

                if (strcmp(gpu->uuid, uuid) == 0)
                        return gpu;
        }
        return NULL;
}

void snapshot_trouble(struct snapshot *snapshot, const char *format, ...)
{
        (void)format;
        vec_push(&snapshot->troubles, NULL);
}

SIM_TEST(the_driver_tells_of_gpus_and_programs)
{
        struct snapshot snapshot = { .gpus = VEC_OF(struct gpu_view),
                                     .troubles = VEC_OF(char[SNAPSHOT_TEXT]) };
        struct vec processes = VEC_OF(struct gpu_process);

        nvml_start("a100-40gb", 2);
        const pid_t other = neighbour(MACHINE_UNITS_PER_GPU, 100 * MIB, false);

        CHECK(snapshot_nvml_add(&snapshot, &processes));
        CHECK_EQ(snapshot.gpus.count, 2);
        const struct gpu_view *first = vec_at(&snapshot.gpus, 0), *second = first + 1;

        CHECK_STR(first->name, "NVIDIA A100-SXM4-40GB");
        CHECK_EQ(first->total_bytes, 40960 * MIB);
        CHECK_EQ(first->used_bytes, 0);
        CHECK(first->is_healthy && first->is_told && first->is_busy_told);
        CHECK_EQ(second->index, 1);
        CHECK_EQ(second->used_bytes, 104 * MIB);
        CHECK_EQ(processes.count, 1);
        const struct gpu_process *process = vec_at(&processes, 0);

        CHECK_EQ(process->pid, other);
        CHECK_EQ(process->bytes, 104 * MIB);
        CHECK_STR(process->uuid, second->uuid);
        neighbour_kill(other);
        atomic_store(&machine_gpu(sim_machine_open(), 1)->is_lost, 1);
        vec_done(&snapshot.gpus);
        CHECK(snapshot_nvml_add(&snapshot, &processes));
        for (size_t i = 0; i < snapshot.gpus.count; i++) {
                const struct gpu_view *gpu = vec_at(&snapshot.gpus, i);

                CHECK_EQ(gpu->is_healthy, i == 0);
                CHECK_EQ(gpu->is_busy_told, i == 0);
        }
        vec_done(&snapshot.gpus);
        vec_done(&processes);
}

SIM_TEST(programs_that_draw_are_told_of_once)
{
        struct snapshot snapshot = { .gpus = VEC_OF(struct gpu_view),
                                     .troubles = VEC_OF(char[SNAPSHOT_TEXT]) };
        struct vec processes = VEC_OF(struct gpu_process);

        nvml_start("a100-40gb", 1);
        const pid_t one = neighbour(0, 100 * MIB, false), other = neighbour(0, 50 * MIB, false);
        struct machine *machine = sim_machine_open();

        for (unsigned i = 0; i < MACHINE_SLOTS; i++)
                if (machine->file->slots[i].pid == other)
                        machine->file->slots[i].units[0].list = MACHINE_LIST_GRAPHICS;
        CHECK(snapshot_nvml_add(&snapshot, &processes));
        CHECK_EQ(processes.count, 2);
        CHECK_EQ(((const struct gpu_process *)vec_at(&processes, 1))->bytes, 54 * MIB);
        vec_done(&processes);
        setenv("VGPU_SIM_GRAPHICS", "1", 1);
        vec_done(&snapshot.gpus);
        CHECK(snapshot_nvml_add(&snapshot, &processes));
        CHECK_EQ(processes.count, 2);
        neighbour_kill(one);
        neighbour_kill(other);
        vec_done(&snapshot.gpus);
        vec_done(&processes);
}

int main(void)
{
        return RUN(CASE(the_driver_tells_of_gpus_and_programs),
                   CASE(programs_that_draw_are_told_of_once));
}
