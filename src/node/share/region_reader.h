/* SPDX-License-Identifier: Apache-2.0 */
/* region_reader: reads the figures of a container's region. The file is never mapped: the container may
 * truncate it meanwhile, and a fault would end vgpu-node. The container may write anything there. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "region_layout.h"

enum { REGION_READER_SLOTS = 512 }; /* processes of one container whose figures are shown */
/* The most time for the check of one region: its container can make the check take for ever. */
enum { REGION_CHECK_MS = 20 };

struct region_reader {
        int fd;
        uint32_t slots;     /* 1 … are shown */
        uint32_t slots_all; /* 1 … were ever used */
        struct region_compute *compute;
        uint64_t ended_ns; /* when a process of it was last found dead or left */
        bool is_of_host;   /* its processes are no container's: their pids are the node's */
};

struct reader_device {
        uint64_t physical_bytes, virtual_bytes; /* on the device; spilled to the host */
        uint64_t refusals, gpu_ns, throttled_ns;
        uint64_t context_bytes; /* what a context took when one was last made; 0: not known */
        /* Of about the last second: the device had work of it; a thread of it waited for its limit. */
        double busy_ratio, throttled_ratio;
};

struct reader_process {
        uint32_t pid, host_pid; /* as it sees itself; as the node does, 0: not known */
        char name[40];
};

struct reader_use { /* of one process on one device */
        uint64_t physical_bytes, virtual_bytes, gpu_ns;
        uint64_t kinds[REGION_KINDS]; /* of the physical; what no kind claims is REGION_OTHER */
};

/* -EPROTO: no region of this release. The caller closes it. */
int region_reader_open(const char *path, struct region_reader *ret_view, struct err *e);
void region_reader_close(struct region_reader *view);

/* device is its index in the share. Each 0 or a negative errno, -EIO: the file ends before. */
int region_reader_device(const struct region_reader *view, unsigned device, uint64_t now_ns,
                         struct reader_device *ret_device);
/* 1: a process has the slot, as far as can be told from here; 0: none. */
int region_reader_process(const struct region_reader *view, uint32_t slot,
                          struct reader_process *ret_process);
/* Did a process of it end in the two seconds before, or is one gone that nobody has found yet? */
bool region_reader_has_ended(const struct region_reader *view, uint64_t now_ns);
int region_reader_use(const struct region_reader *view, uint32_t slot, unsigned device,
                      struct reader_use *ret_use);
