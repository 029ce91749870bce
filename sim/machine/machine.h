/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated machine: make, open and describe it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "machine_layout.h"

struct machine {
        struct machine_file *file; /* the mapping */
        int fd;                    /* kept open, close-on-exec */
};

struct machine_kernel_time {
        const char *name;
        double microseconds;
};

/* What `vgpu sim create` can choose. Zero means the default, which machine_spec_init() sets. */
struct machine_spec {
        const char *preset; /* name of a row of preset.c */
        unsigned gpu_count;
        uint64_t seed;             /* 0: random */
        uint64_t gpu_memory_bytes; /* 0: the preset's */
        int64_t context_bytes;     /* < 0: the preset's */
        double time_scale;
        double noise;
        uint64_t slice_ns;
        uint64_t launch_ns;
        uint64_t content_budget_bytes;
        uint64_t interpret_budget;
        unsigned driver_version;
        unsigned
                release_us; /* so long the driver takes to free a dead process's memory, real time */
        bool is_ephemeral;
        const struct machine_kernel_time *kernels;
        size_t kernel_count;
};
void machine_spec_init(struct machine_spec *spec);

/* Makes the machine file; nothing is left behind on failure. -EEXIST, -ENOSPC, -EACCES, -EINVAL … */
int machine_create(const char *path, const struct machine_spec *spec, struct err *e);

/* Maps an existing machine. -EPROTO: not a machine file, or another version. The caller closes it. */
int machine_open(const char *path, struct machine *ret_machine, struct err *e);
/* The same, of a command that somebody runs on it: root takes part in machines of its own alone. -EPERM: it is
 * another user's. To look at one: machine_view.h. */
int machine_open_own(const char *path, struct machine *ret_machine, struct err *e);
/* Whether the file is a machine of this release: 0, -EPROTO. */
int machine_file_check(int fd, const char *path, struct err *e);
/* The machine that the environment names: VGPU_SIM. -ENOENT: it names none. */
int machine_open_default(struct machine *ret_machine, struct err *e);
void machine_close(struct machine *machine);

/* Simulated nanoseconds since the machine's epoch; never 0. */
uint64_t machine_now_ns(const struct machine *machine);
/* Real nanoseconds that a simulated span lasts. */
uint64_t machine_real_ns(const struct machine *machine, uint64_t simulated_ns);

void machine_count(struct machine *machine, enum machine_counter counter, uint64_t amount);

/* The kernel's fixed duration: from `--kernel`, else vgpu-burn's load has one; or false. */
bool machine_kernel_duration(const struct machine *machine, const char *name, uint64_t *ret_ns);

/* Takes a robust lock. True when its owner died holding it: repair what it guards. The lock is
 * marked consistent already. */
bool machine_lock(pthread_mutex_t *lock);
void machine_unlock(pthread_mutex_t *lock);
void machine_lock_init(pthread_mutex_t *lock);

static inline struct machine_gpu *machine_gpu(const struct machine *machine, unsigned gpu)
{
        return &machine->file->header.gpus[gpu];
}

static inline struct machine_unit *machine_unit(const struct machine *machine, unsigned unit)
{
        return &machine->file->header.units[unit];
}
