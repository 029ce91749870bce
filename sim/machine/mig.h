/* SPDX-License-Identifier: Apache-2.0 */
/* MIG: the ways a GPU can be cut into instances, and the instances it is cut into.
 *
 * A GPU instance owns memory slices and compute slices and is a unit of its own (units[gpu × 8 + k],
 * k = 1…7); compute instances share its memory and divide its compute slices. Indices below are
 * positions in machine_gpu.instances[] and machine_gpu_instance.compute[]. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

#define MIG_ANYWHERE (-1)

/* One kind of GPU instance of one model of GPU. */
struct mig_profile {
        const char *name; /* "1g.5gb" */
        uint8_t kind;     /* NVML_GPU_INSTANCE_PROFILE_… */
        uint8_t id;       /* the number the GPU gives it, as in `mig -cgi 19` */
        uint8_t slices;   /* compute slices */
        uint8_t size;     /* memory slices */
        uint8_t starts;   /* bit k: may start at memory slice k */
        uint8_t max_count;
        uint8_t sm_count;
        uint8_t copy_engines, decoders, encoders, jpegs, ofas;
        uint32_t memory_mib;
};

struct mig_model {
        const char *preset;
        uint8_t slices; /* compute slices of the whole GPU */
        uint8_t memory_slices;
        const struct mig_profile *profiles;
        size_t profile_count;
};

/* One kind of compute instance within a GPU instance. */
struct mig_compute_profile {
        uint32_t id; /* also NVML_COMPUTE_INSTANCE_PROFILE_… */
        uint32_t slices;
        uint32_t sm_count;
        uint32_t max_count;
        uint32_t starts; /* bit k: may start at compute slice k */
};

/* NULL: this GPU cannot be cut. */
const struct mig_model *mig_model(const struct machine_gpu *gpu);
/* NULL: the GPU has no such profile. */
const struct mig_profile *mig_profile_of_kind(const struct mig_model *model, unsigned kind);
const struct mig_profile *mig_profile_of_id(const struct mig_model *model, unsigned id);
/* False: an instance of this profile has no such compute profile. */
bool mig_compute_profile(const struct mig_profile *profile, unsigned id,
                         struct mig_compute_profile *ret_profile);

/* Memory that programs in such an instance can have. A GPU made smaller has smaller instances. */
uint64_t mig_memory_bytes(const struct machine_gpu *gpu, const struct mig_profile *profile);

/* Where another instance of this profile could start now: bit k, memory slice k. */
uint32_t mig_free_starts(const struct machine_gpu *gpu, const struct mig_profile *profile);
/* How many more instances of this profile fit. */
unsigned mig_remaining(const struct machine_gpu *gpu, const struct mig_profile *profile);
unsigned mig_compute_remaining(const struct machine_gpu_instance *instance,
                               const struct mig_compute_profile *profile);

/* Turns MIG on or off. -EBUSY: remembered as pending, because processes use the GPU.
 * -EOPNOTSUPP: the GPU has no MIG. Turning it off removes the instances. */
int mig_set_mode(struct machine *machine, unsigned gpu, bool is_enabled);
/* What a reset of an idle GPU does: the pending mode takes effect. -EBUSY. */
int mig_reset(struct machine *machine, unsigned gpu);

/* start: a memory slice or MIG_ANYWHERE. -EINVAL: no such profile or start; -ENOSPC: no space;
 * -EOPNOTSUPP: MIG is off. */
int mig_create(struct machine *machine, unsigned gpu, unsigned profile_id, int start,
               unsigned *ret_instance);
/* -ENOENT: no such instance; -EBUSY: it has compute instances or processes. */
int mig_destroy(struct machine *machine, unsigned gpu, unsigned instance);
int mig_compute_create(struct machine *machine, unsigned gpu, unsigned instance,
                       unsigned profile_id, int start, unsigned *ret_compute);
int mig_compute_destroy(struct machine *machine, unsigned gpu, unsigned instance, unsigned compute);

/* True when a live process holds memory or a context on this unit. */
bool mig_unit_is_busy(struct machine *machine, unsigned unit);

/* The instance that a MIG-… UUID names, whole or without its prefix. */
bool mig_find(const struct machine *machine, const char *uuid, unsigned *ret_gpu,
              unsigned *ret_instance, unsigned *ret_compute);
