/* SPDX-License-Identifier: Apache-2.0 */
/* bench_machine: what is left of a call is the simulator's own work. */
#include "bench_machine.h"

#include <stdio.h>
#include <stdlib.h>

#include "machine.h"

void bench_machine_make(const char *path)
{
        const struct machine_kernel_time kernel = { .name = "bench_timed", .microseconds = 1 };
        struct machine_spec spec;
        struct err e = { 0 };

        machine_spec_init(&spec);
        spec.time_scale = 1000;
        spec.context_bytes = 2 << 20; /* many processes have one each */
        spec.kernels = &kernel;
        spec.kernel_count = 1;
        if (machine_create(path, &spec, &e) < 0) {
                fprintf(stderr, "bench: %s\n", e.text);
                exit(1);
        }
}
