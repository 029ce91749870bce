/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_process: who is on the GPUs, as the driver says. */
#pragma once

#include "gpu.h"
#include "vec.h"

struct gpu_process {
        char uuid[96]; /* of the GPU, or of the MIG device */
        uint32_t pid;  /* the host's */
        uint64_t bytes;
        unsigned busy_percent; /* of the last second; 0 where the driver does not say */
        bool is_busy_told;
};

/* A second ago, by the clock of the driver's samples. */
unsigned long long gpu_process_second_us(void);

/* Adds a struct gpu_process for each process on each GPU, or where it is cut, on each of its MIG devices. */
void gpu_process_read(const struct nvml *nvml, const struct gpu_set *set, struct vec *processes);
