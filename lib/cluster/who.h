/* Who: which pod it is, and what it is worth beside others. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define WHO_KEPT "vgpu.io/kept-node"

struct who {
        char uid[64], namespace_name[64], name[256];
        /* The node on which room is kept for it: as kube-scheduler says, which forgets it whenever it fails to
         * ask us, and as we say. "": none. */
        char nominated[256], kept[256];
        int32_t priority;
        bool may_preempt;
        bool is_leaving;   /* it is being deleted */
        int64_t started_s; /* or was made: among equals, whoever began later gives way */
};

void who_read(const json_t *pod, struct who *ret_who);
