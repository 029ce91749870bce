/* tenant_look: one look at one container: what the driver says of its processes, what its account says. */
#pragma once

#include "gpu_process.h"
#include "share_book.h"
#include "tenant_check.h"

enum { TENANT_SENTENCE = 256 };

/* A process on a GPU, and whose it is. */
struct tenant_process {
        struct gpu_process process;
        struct held_share *held;
};

struct tenant_state {
        struct list link; /* of its owner */
        struct held_share *held;
        struct tenant_record record;
        bool is_first; /* set: there is no look before */
        struct {
                uint64_t gpu_ns;    /* by its account, at the last look */
                uint64_t unsaid_ns; /* in all */
        } devices[];                /* of the share */
};

struct tenant_finding {
        unsigned seen; /* bits of enum cheat */
        char sentences[CHEATS][TENANT_SENTENCE];
        uint64_t unsaid_ns[SHARE_DEVICES]; /* GPU time since the last look beyond what it says */
};

/* processes: a vec of struct tenant_process, of all containers. Whether the account adds up is not looked
 * at beyond until_ns, nor for long. */
void tenant_look(struct tenant_state *state, const struct vec *processes, uint64_t passed_ns,
                 uint64_t until_ns, struct tenant_finding *ret_finding);
