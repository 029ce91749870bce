/* SPDX-License-Identifier: Apache-2.0 */
/* target: what a handle means: a GPU, a MIG device, a GPU instance, a compute instance.
 *
 * Handles are entries of tables, so that a wrong one is recognised and never followed. */
#pragma once

#include "session.h"

enum {
        TARGET_INSTANCES = 7, /* GPU instances of a GPU, and compute instances of one of those */
};

struct target {
        struct machine *machine;
        struct machine_gpu *gpu;
        unsigned index;                           /* of the GPU */
        unsigned unit;                            /* what it runs on: units[] */
        struct machine_gpu_instance *instance;    /* NULL: the whole GPU */
        struct machine_compute_instance *compute; /* NULL: not a MIG device */
};

nvmlDevice_t target_handle(unsigned gpu);
nvmlDevice_t target_mig_handle(unsigned gpu, unsigned instance, unsigned compute);
nvmlGpuInstance_t target_instance_handle(unsigned gpu, unsigned instance);
nvmlComputeInstance_t target_compute_handle(unsigned gpu, unsigned instance, unsigned compute);

/* A GPU or a MIG device. `answer` is where the caller wants the answer: NULL is refused.
 * NVML_ERROR_GPU_IS_LOST when it fell off the bus. */
nvmlReturn_t target_any(nvmlDevice_t device, const void *answer, struct target *ret_target);
/* The same, but a MIG device is refused: the question only makes sense for the whole GPU. */
nvmlReturn_t target_gpu(nvmlDevice_t device, const void *answer, struct target *ret_target);
nvmlReturn_t target_instance(nvmlGpuInstance_t handle, const void *answer,
                             struct target *ret_target);
nvmlReturn_t target_compute(nvmlComputeInstance_t handle, const void *answer,
                            struct target *ret_target);

/* The index of a target's instance and compute instance in their tables. */
unsigned target_instance_index(const struct target *target);
unsigned target_compute_index(const struct target *target);

/* Copies a text into the caller's buffer; NVML_ERROR_INSUFFICIENT_SIZE. */
nvmlReturn_t target_text(const char *text, char *buffer, unsigned length);

/* The one list protocol of NVML: *count says how many fit and learns how many there are. True when
 * the items may be copied. */
bool target_list_fits(unsigned *count, unsigned needed, const void *items,
                      nvmlReturn_t *ret_result);
