/* SPDX-License-Identifier: Apache-2.0 */
/* sim: what a test of the simulated driver needs: a machine of its own, and a fresh process per case.
 *
 * SIM_TEST(a_full_gpu_refuses)
 * {
 *         sim_machine("a100-40gb", 2);          // VGPU_SIM names it; gone when the case ends
 *         CHECK_EQ(cuInit(0), CUDA_SUCCESS);
 *         …
 * }
 * int main(void) { return RUN(CASE(a_full_gpu_refuses)); }
 *
 * The driver's state is the process's, so each case runs in a child. */
#pragma once

#include "machine.h"
#include "unit.h"

#define SIM_TEST(name)                                         \
        static void name##_body(void);                         \
        static void name(void **state __attribute__((unused))) \
        {                                                      \
                sim_run(name##_body);                          \
        }                                                      \
        static void name##_body(void)

/* A case that needs a region puts it at the machine's path with this at its end. */
#define SIM_REGION "-region"

/* Runs the body in a child with a machine path of its own; a failed check in it fails this case. */
void sim_run(void (*body)(void));

/* Makes this case's machine. sim_machine_from: with all that machine_spec can say. */
void sim_machine(const char *preset, unsigned gpu_count);
void sim_machine_from(const struct machine_spec *spec);

/* Opens the case's machine, to query it or disturb it from outside the driver. */
struct machine *sim_machine_open(void);

/* Runs `body` in another process of the same case and waits for it: its exit code, or 128 + the
 * signal that ended it. */
int sim_in_child(int (*body)(void));
