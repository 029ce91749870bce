/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU under load: what to do, and how it goes. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "burn_driver.h"

struct burn_plan {
        const struct burn_driver *driver;
        uint64_t memory_bytes;   /* 0: by percent */
        unsigned memory_percent; /* of what is free */
        bool is_double;
        uint64_t end_ns;          /* clock_now_ns() when to stop */
        _Atomic bool *is_stopped; /* interrupted */
};

/* A thread works on it; the rest of the program only looks. */
struct burn_gpu {
        const struct burn_plan *plan;
        int ordinal;
        char name[96];
        char pci_bus_id[32];
        _Atomic uint64_t launches;
        _Atomic uint64_t flop; /* done so far */
        _Atomic uint64_t errors;
        _Atomic bool is_done;
        /* From the first batch of launches to the end of the last that is done; 0: none yet. */
        _Atomic uint64_t begin_ns, last_ns;
        struct err error; /* valid once it is done; code 0: none */
};

/* Burns until the plan's end. A pthread start routine; the argument is a struct burn_gpu. */
void *burn_gpu_run(void *gpu);
