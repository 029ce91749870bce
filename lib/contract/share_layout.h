/* SPDX-License-Identifier: Apache-2.0 */
/* The share file: what one container may have. Written by its owner (vgpu-node or `vgpu run`), mapped
 * read-only by libvgpu in the container, changed in place while it is in use.
 *
 * Two copies and an index: the owner writes the copy that is not in use, then the index. Whoever is
 * killed while writing leaves the copy in use as it was. The file is never renamed: it is mounted. */
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
        SHARE_VERSION = 1,
        SHARE_DEVICES = 64,
        SHARE_TEXT = 256,
        SHARE_UUID = 48,
};
#define SHARE_MAGIC UINT64_C(0x6572616873757076) /* "vpushare" */
/* Where it lies in a container; there it beats every variable. */
#define SHARE_PATH      "/etc/vgpu/share"
#define SHARE_UNLIMITED UINT64_MAX

enum share_flag {
        SHARE_OVERSOLD = 1,       /* beyond physical memory, managed memory follows */
        SHARE_CONTEXT_EXEMPT = 2, /* contexts do not count towards the limit */
        SHARE_LATENCY = 4,        /* latency class: shorter waits */
        SHARE_COPIES_COUNT = 8,   /* copies and fills count as compute */
};

/* How `cores_percent` is held. */
enum share_policy {
        SHARE_POLICY_FIXED,   /* always, whoever else is there */
        SHARE_POLICY_BALANCE, /* idle time may be borrowed, up to cores_max or all there is */
        SHARE_POLICY_NONE,    /* not at all */
        SHARE_POLICIES,
};

/* What the copy in use limits on some device: a set. */
enum share_limits {
        SHARE_LIMITS_LAUNCHES = 1,
        SHARE_LIMITS_COPIES = 2,
        SHARE_LIMITS_TIMESLICES = 4, /* somebody beside it has a limit: said by the arbiter */
};

struct share_device {
        char uuid[SHARE_UUID];
        _Atomic uint64_t limit_bytes; /* all it may hold; SHARE_UNLIMITED: no limit */
        uint64_t physical_bytes;      /* of these on the device; the remainder is managed memory */
        uint64_t host_bytes;          /* oversold: how much may lie on the host beyond the limit */
        uint64_t limit_max_bytes;     /* up to where it may be resized */
        uint64_t context_bytes;       /* what a context takes here; 0: not known */
        uint32_t cores_percent;       /* 0: no compute limit */
        uint32_t cores_max_percent;   /* > cores: may borrow up to this */
        uint32_t weight;
        uint32_t flags; /* enum share_flag */
        uint32_t cores_ceiling_percent;
        uint32_t policy;       /* enum share_policy */
        uint64_t device_bytes; /* memory of the whole device; 0: not known */
        /* {cores, bytes}, 8 and 56 bits: what the container's own variables said when the share was made
         * of them. While they say the same, they say nothing new. */
        uint64_t said;
};
static_assert(sizeof(struct share_device) == 128, "read by other releases");

struct share_copy {
        uint64_t generation; /* grows with every change */
        uint32_t device_count;
        uint32_t checksum; /* of the copy with this word 0 */
        uint32_t log_level;
        uint32_t compatibility; /* enum setting_compatibility + 1; 0: detect */
        uint64_t region_inode;  /* of the region that was made for it; 0: its processes make one */
        uint64_t origin; /* for the owner: a digest of what it made the share from; 0: none */
        uint32_t phase;  /* for the owner: enum pod_phase */
        uint32_t container_index; /* for the owner: among those of its pod */
        uint64_t reserved;
        char name[64]; /* what `vgpu set` and `vgpu ps` call it */
        char pod_uid[64];
        char pod_namespace[64];
        char pod_name[SHARE_TEXT];
        char container[SHARE_TEXT];
        char region[SHARE_TEXT]; /* path of the region */
        struct share_device devices[SHARE_DEVICES];
};

struct share_file {
        _Atomic uint64_t magic; /* written last */
        uint32_t version;
        _Atomic uint32_t index; /* the copy in use: 0 or 1 */
        /* enum share_limits; 0: compute is not limited. Read on every launch and copy. */
        _Atomic uint32_t limits_compute;
        uint32_t reserved_word;
        uint64_t reserved[5];
        struct share_copy copies[2];
};
static_assert(offsetof(struct share_file, copies) == 64, "read by other releases");
