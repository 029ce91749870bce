/* Asking: what a pod asks of a node's GPUs, read once from its object. */
#pragma once

#include <jansson.h>

#include "err.h"
#include "placement.h"

enum { ASKING_NAME = 64, ASKING_CHOICE = 256 };

struct asking {
        struct placement_pod pod;
        int32_t priority;
        char containers[PLACEMENT_NEEDS][ASKING_NAME]; /* by need */
        char node_policy[16]; /* "binpack", "spread", "none"; "": the scheduler's own */
        /* Words separated by commas, in a card's type or UUID; "": any. */
        char use_types[ASKING_CHOICE], avoid_types[ASKING_CHOICE];
        char use_uuids[ASKING_CHOICE], avoid_uuids[ASKING_CHOICE];
};

/* -EINVAL: nothing can be asked for so. A pod that asks for nothing of ours has no needs. */
int asking_read(const json_t *pod, bool with_gpu, struct asking *ret_asking, struct err *e);

/* Does the pod let itself have this card? */
bool asking_allows(const struct asking *asking, const char *type, const char *uuid);
