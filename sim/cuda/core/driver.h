/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's state in this process: the machine it is attached to and the devices it shows. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "cuda_prototypes.h"
#include "machine.h"
#include "slot.h"

enum { DRIVER_DEVICES = 64 };

struct context;
struct pool;

/* A CUDA device as this process counts them, after CUDA_VISIBLE_DEVICES. */
struct device {
        int ordinal;
        unsigned gpu;              /* index in the machine */
        unsigned unit;             /* the GPU itself, or a MIG GPU instance */
        unsigned compute_instance; /* of the GPU instance; 0 for a whole GPU */
        uint32_t channel;          /* of this process on the unit; made with the first context */
        struct context *primary;   /* NULL: never asked for; see context_primary() */
        unsigned primary_references;
        unsigned primary_flags;
        struct pool *_Atomic default_pool; /* memory owns these two */
        struct pool *_Atomic current_pool;
        uint64_t graph_memory[4]; /* CUgraphMem_attribute */
};

struct driver {
        struct machine machine;
        struct machine_slot *slot;
        struct device devices[DRIVER_DEVICES];
        int device_count;
        /* Guards objects' lists and life. Never held while waiting for the GPU or calling out. */
        pthread_mutex_t lock;
};
extern struct driver driver;

bool driver_is_started(void);

/* NULL: no such ordinal. */
struct device *driver_device(CUdevice ordinal);
/* Whole GPUs: MIG instances reach nobody. */
bool devices_are_peers(const struct device *a, const struct device *b);
static inline struct machine_gpu *device_gpu(const struct device *device)
{
        return machine_gpu(&driver.machine, device->gpu);
}
static inline struct machine_unit *device_unit(const struct device *device)
{
        return machine_unit(&driver.machine, device->unit);
}

/* One line on stderr, once per distinct text and process: what the simulator could not do. */
void driver_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
