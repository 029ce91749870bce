/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a MIG manager killed at any moment leaves a GPU that can be cut again. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mig.h"
#include "sim.h"

enum { ROUNDS = 60, MANAGERS = 3 };

/* Cuts and mends at random until it is killed. */
static _Noreturn void manage(unsigned seed)
{
        static const unsigned profiles[] = { 19, 20, 15, 14, 9, 5, 0 };
        struct machine *machine = sim_machine_open();

        for (;;) {
                unsigned instance, compute, any = (unsigned)rand_r(&seed);

                if (any % 3 &&
                    mig_create(machine, 0, profiles[any / 3 % 7], MIG_ANYWHERE, &instance) == 0)
                        mig_compute_create(machine, 0, instance, 0, MIG_ANYWHERE, &compute);
                for (unsigned k = 0; k < 7; k++)
                        mig_compute_destroy(machine, 0, any / 21 % 7, k);
                mig_destroy(machine, 0, any / 21 % 7);
        }
}

static void check_gpu(const struct machine *machine)
{
        const struct machine_gpu *gpu = machine_gpu(machine, 0);
        const struct mig_model *model = mig_model(gpu);
        uint32_t used = 0;

        for (unsigned i = 0; i < 7; i++) {
                const struct machine_gpu_instance *instance = &gpu->instances[i];
                if (!instance->is_used)
                        continue;
                uint32_t span = ((1u << instance->size) - 1) << instance->start;
                CHECK_EQ(used & span, 0);
                used |= span;
                const struct mig_profile *profile = mig_profile_of_id(model, instance->profile);
                CHECK(profile != NULL);
                CHECK_EQ(instance->unit, 1 + i);
                CHECK(machine_unit(machine, instance->unit)->is_active);
                CHECK_EQ(machine_unit(machine, instance->unit)->memory_bytes,
                         mig_memory_bytes(gpu, profile));
        }
}

SIM_TEST(managers_that_are_killed_leave_a_gpu_that_can_be_cut_again)
{
        sim_machine("a100-40gb", 1);
        struct machine *machine = sim_machine_open();
        unsigned instance;

        CHECK_EQ(mig_set_mode(machine, 0, true), 0);
        for (unsigned round = 0; round < ROUNDS; round++) {
                pid_t managers[MANAGERS];

                for (unsigned i = 0; i < MANAGERS; i++) {
                        managers[i] = fork();
                        if (managers[i] == 0)
                                manage(round * MANAGERS + i + 1);
                }
                usleep(1500 + round * 40);
                for (unsigned i = 0; i < MANAGERS; i++) {
                        kill(managers[i], SIGKILL);
                        waitpid(managers[i], NULL, 0);
                }
                check_gpu(machine);
        }
        for (unsigned i = 0; i < 7; i++) {
                for (unsigned k = 0; k < 7; k++)
                        mig_compute_destroy(machine, 0, i, k);
                mig_destroy(machine, 0, i);
        }
        CHECK_EQ(mig_create(machine, 0, 0, MIG_ANYWHERE, &instance), 0);
        check_gpu(machine);
        CHECK_EQ(mig_set_mode(machine, 0, false), 0);
        CHECK(!machine_unit(machine, 1)->is_active);
}

SIM_TEST(the_same_cut_has_the_same_uuid_and_another_machine_another)
{
        struct machine_spec spec;
        char first[48] = "";

        machine_spec_init(&spec);
        for (spec.seed = 1; spec.seed <= 2; spec.seed++) {
                unlink(getenv("VGPU_SIM"));
                sim_machine_from(&spec);
                struct machine *machine = sim_machine_open();
                unsigned instance, compute, gpu, found, part;

                CHECK_EQ(mig_set_mode(machine, 0, true), 0);
                for (unsigned round = 0; round < 2; round++) {
                        CHECK_EQ(mig_create(machine, 0, 14, 2, &instance), 0);
                        CHECK_EQ(mig_compute_create(machine, 0, instance, 1, 0, &compute), 0);
                        const char *uuid =
                                machine_gpu(machine, 0)->instances[instance].compute[compute].uuid;
                        CHECK(mig_find(machine, uuid, &gpu, &found, &part));
                        CHECK(mig_find(machine, uuid + 4, &gpu, &found, &part));
                        CHECK(found == instance && part == compute && gpu == 0);
                        if (spec.seed == 1 && round == 0)
                                snprintf(first, sizeof first, "%s", uuid);
                        CHECK_EQ(strcmp(first, uuid) == 0, spec.seed == 1);
                        CHECK_EQ(mig_compute_destroy(machine, 0, instance, compute), 0);
                        CHECK_EQ(mig_destroy(machine, 0, instance), 0);
                }
                CHECK(!mig_find(machine, first, &gpu, &found, &part));
                machine_close(machine);
        }
}

int main(void)
{
        return RUN(CASE(managers_that_are_killed_leave_a_gpu_that_can_be_cut_again),
                   CASE(the_same_cut_has_the_same_uuid_and_another_machine_another));
}
