/* gpu: the GPUs of this node, as the driver's NVML tells of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "nvml.h"

enum { GPUS_MOST = 64 };

struct gpu {
        unsigned index;
        char uuid[96];
        char name[96];
        char bus_id[32]; /* "0000:01:00.0" */
        uint64_t memory_bytes;
        int numa;
        unsigned capability_major, capability_minor;
        bool is_mig, is_healthy;
};

struct gpu_set {
        struct gpu gpus[GPUS_MOST];
        unsigned count;
};

/* Those that the list excludes are not in the set: "0,2", "0..2", "GPU-…", separated by commas; NULL:
 * none. */
int gpu_set_read(const struct nvml *nvml, const char *exclude, struct gpu_set *ret_set,
                 struct err *e);

/* Does the list name this GPU? -EINVAL: the list is malformed. */
int gpu_is_excluded(const char *list, const struct gpu *gpu, struct err *e);
