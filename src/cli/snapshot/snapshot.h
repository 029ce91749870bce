/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: GPUs, shares and programs of this machine at one moment, from all sources: the driver, the
 * share files of users, vgpu-node. `vgpu ps` and `vgpu top` print it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "region_layout.h"
#include "share_layout.h"
#include "vec.h"

enum { SNAPSHOT_TEXT = 256, SNAPSHOT_USER = 64, SNAPSHOT_NAME = 96 };
#define SNAPSHOT_UNKNOWN UINT64_MAX

/* A GPU, or a MIG device: what programs can have. */
struct gpu_view {
        char machine[33];         /* the simulated one's; "": the driver's own */
        unsigned index, instance; /* in the driver's order; instance: MIG devices, 1 … */
        char uuid[SHARE_UUID];
        char name[SNAPSHOT_NAME]; /* the product's; "": nobody told */
        uint64_t total_bytes;     /* 0: not known */
        uint64_t used_bytes;      /* by everybody, as the driver says */
        double busy_percent;      /* of the last second, as the driver says */
        double outside_percent;   /* of these by programs without a share; 0 where nobody tells */
        uint64_t cores_used_ns, outside_ns; /* by shares, and by them, as vgpu-node has counted;
                                             * SNAPSHOT_UNKNOWN: nobody has */
        bool is_told;                       /* by a driver: used_bytes is known */
        bool is_busy_told;                  /* busy_percent, likewise */
        bool is_busy_second; /* that is of the last second; else of a time that the driver chose */
        bool is_split_told;  /* and how much of it each process had */
        bool is_split_rounded; /* in whole percents */
        bool is_healthy;
};

/* A process as the driver knows it. */
struct gpu_process {
        char uuid[SHARE_UUID]; /* of the GPU */
        pid_t pid;
        bool is_foreign; /* a pid of another pid namespace */
        uint64_t bytes;
        double busy_percent; /* of the GPU's time in the last second */
        char program[64];    /* "": not told */
};

/* What vgpu-node has counted of a GPU since it started. */
struct gpu_count {
        char uuid[SHARE_UUID];
        uint64_t cores_used_ns, outside_ns;
};

/* What a share has of a GPU, and uses of it. */
struct share_gpu {
        char uuid[SHARE_UUID];
        uint64_t total_bytes; /* of the whole GPU, as the share has it; 0: not known */
        uint64_t limit_bytes; /* SHARE_UNLIMITED: none; so for the next two */
        uint64_t physical_limit_bytes, virtual_limit_bytes;
        uint64_t physical_bytes, virtual_bytes;
        uint64_t refusals;
        unsigned cores_percent, cores_max_percent; /* 0: no limit */
        /* Of the last second: what the GPU did for it; how long it waited for its limit; how long it had work, and
         * the GPU did that of a stranger. */
        double cores_used_percent, throttled_percent, cores_lost_percent;
        bool is_used_known; /* false: it measures nothing, and no driver tells */
        bool is_lost_known; /* the driver tells of each process */
        bool has_ended;     /* processes of it, in these last seconds */
        uint64_t gpu_ns, throttled_ns;
        uint64_t cores_used_ns,
                cores_lost_ns; /* as vgpu-node has seen; SNAPSHOT_UNKNOWN: nobody has */
        uint64_t timeslices, timeslice_held_ns, timeslice_waited_ns, timeslices_lapsed,
                timeslice_quantum_ns, timeslice_swap_ns;
        bool is_latency, is_oversold, copies_count;
};

/* What a process of a share holds of a GPU. */
struct process_gpu {
        unsigned gpu; /* its index among the share's */
        uint64_t kinds[REGION_KINDS];
        uint64_t virtual_bytes, resident_bytes, gpu_ns;
        bool is_resident_told; /* by the driver */
};

struct share_process {
        pid_t pid, host_pid; /* as it sees itself; as we do, 0: not known */
        char program[SNAPSHOT_TEXT];
        struct vec gpus; /* of struct process_gpu */
};

struct share_view {
        char name[64], user[SNAPSHOT_USER]; /* user "": of a container */
        char program[64];                   /* that `vgpu run` started; "": of a container */
        char pod_namespace[64], pod[SNAPSHOT_TEXT], container[SNAPSHOT_TEXT], pod_uid[64];
        char container_id[80];     /* as its runtime calls it; "": not known */
        char fault[SNAPSHOT_TEXT]; /* what is wrong with its region; "": nothing */
        bool is_context_exempt;
        struct vec gpus;      /* of struct share_gpu */
        struct vec processes; /* of struct share_process */
};

/* A program on a GPU that belongs to no share, as far as this user can tell. */
struct stranger {
        char uuid[SHARE_UUID], user[SNAPSHOT_USER], program[64];
        pid_t pid;
        bool is_other_user; /* it may have a share that this user cannot see */
        uint64_t used_bytes;
};

struct snapshot {
        uint64_t time_ns;      /* since 1970 */
        uint64_t monotonic_ns; /* for rates */
        struct vec gpus;       /* of struct gpu_view */
        struct vec shares;     /* of struct share_view */
        struct vec strangers;  /* of struct stranger */
        struct vec troubles;   /* of char[SNAPSHOT_TEXT]: what could not be read */
        struct vec counts;     /* of struct gpu_count */
};

struct snapshot_scope {
        bool is_all;      /* every user's */
        const char *user; /* this user's alone; NULL: all that is_all allows */
};

/* Shares are sorted by user and name. What dead processes of this user's shares held is given back first. */
void snapshot_take(const struct snapshot_scope *scope, struct snapshot *ret_snapshot);
void snapshot_done(struct snapshot *snapshot);

/* Leaves out shares and strangers that have not the text in a name; an empty one leaves out none. */
void snapshot_filter(struct snapshot *snapshot, const char *text);

/* A sentence about what could not be read. */
void snapshot_trouble(struct snapshot *snapshot, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* NULL: no driver and no share told of it. */
struct gpu_view *snapshot_gpu(const struct snapshot *snapshot, const char *uuid);
/* A share that is empty yet; NULL: out of memory. */
struct share_view *snapshot_share_add(struct snapshot *snapshot);

/* Machine by machine, in the driver's order: for qsort(). */
int gpu_view_compare(const void *a, const void *b);
/* What the share may use of the GPU at most; 0: no limit. */
unsigned share_gpu_cap_percent(const struct share_gpu *gpu);
/* It has a limit that it measures for, or has measured for another reason: gpu_ns says something. */
bool share_gpu_is_measured(const struct share_gpu *gpu);
uint64_t process_gpu_held_bytes(const struct process_gpu *use);
/* Is it the one that the driver knows? */
bool share_process_is(const struct share_process *process, const struct gpu_process *known);

/* The name of the user; the number where it has none. */
void user_name_find(uid_t uid, char ret_name[SNAPSHOT_USER]);
