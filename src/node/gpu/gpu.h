/* SPDX-License-Identifier: Apache-2.0 */
/* gpu: the GPUs of this node, as the driver's NVML lists them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "mig_profile.h"
#include "nvml.h"

/* Sixteen GPUs with seven MIG devices each are the most that is built. */
enum { GPUS_MOST = 64, MIG_DEVICES_MOST = 128 };

struct gpu {
        unsigned index;
        char uuid[96];
        char name[96];
        char bus_id[32]; /* "0000:01:00.0" */
        uint64_t memory_bytes;
        int numa;
        unsigned capability_major, capability_minor;
        bool is_mig, is_healthy;
        /* As last sampled; not part of what changes a set. */
        uint64_t used_bytes;
        double busy_percent;
        bool is_busy_told,
                is_busy_second; /* second: of the last one; else of a time that the driver chose */
};

/* A MIG device: a device of its own for whoever gets it. */
struct mig_device {
        char uuid[56];
        unsigned gpu; /* its GPU's index in the set */
        struct mig_profile profile;
        uint64_t memory_bytes;
};

struct gpu_set {
        struct gpu gpus[GPUS_MOST];
        unsigned count;
        struct mig_device parts[MIG_DEVICES_MOST];
        unsigned part_count;
        uint8_t links[GPUS_MOST][GPUS_MOST]; /* of each to each; see gpu_links.h */
};

/* Those that the list excludes are not in the set: "0,2", "0..2", "GPU-…", separated by commas; NULL:
 * none. */
int gpu_set_read(const struct nvml *nvml, const char *exclude, struct gpu_set *ret_set,
                 struct err *e);

/* Reads anew what is cut into what; true: it is not as it was. */
bool gpu_set_read_parts(const struct nvml *nvml, struct gpu_set *set);

/* The index of the GPU with this UUID, or with a MIG device of it; −1: neither is here. */
int gpu_set_find(const struct gpu_set *set, const char *uuid);

/* Does the list name this GPU? -EINVAL: the list is malformed. */
int gpu_is_excluded(const char *list, const struct gpu *gpu, struct err *e);
