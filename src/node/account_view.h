/* account_view: figures of a container's account. The file is read, never mapped: the container may cut it
 * short while we look, and a mapping would end us. What it says is the container's own word. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "region_layout.h"

enum { ACCOUNT_SLOTS = 512 }; /* processes of one container whose figures are shown */
/* So long one account's sum may hold up everybody else: its container can make it take for ever. */
enum { ACCOUNT_LOOK_MS = 20 };

struct account_view {
        int fd;
        uint32_t slots;     /* 1 … are shown */
        uint32_t slots_all; /* 1 … were ever used */
        struct region_compute *compute;
};

struct account_device {
        uint64_t physical_bytes, virtual_bytes; /* on the card, and on the host in its place */
        uint64_t refusals, gpu_ns, throttled_ns;
        double busy_ratio; /* of the whole device, in about the last second */
};

struct account_process {
        uint32_t pid, host_pid; /* as it sees itself; as the node does, 0: not known */
        char name[40];
};

struct account_use { /* of one process on one device */
        uint64_t physical_bytes, virtual_bytes, gpu_ns;
        uint64_t kinds[REGION_KINDS]; /* of the physical; what no kind claims is REGION_OTHER */
};

/* -EPROTO: no account of this release. The caller closes it. */
int account_view_open(const char *path, struct account_view *ret_view, struct err *e);
void account_view_close(struct account_view *view);

/* device is its place in the share. Each 0 or a negative errno, -EIO: the file ends before. */
int account_view_device(const struct account_view *view, unsigned device, uint64_t now_ns,
                        struct account_device *ret_device);
/* 1: a process has the slot, as far as can be told from here; 0: none. */
int account_view_process(const struct account_view *view, uint32_t slot,
                         struct account_process *ret_process);
int account_view_use(const struct account_view *view, uint32_t slot, unsigned device,
                     struct account_use *ret_use);
