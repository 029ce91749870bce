/* tenant_watch: holds what containers say of themselves against what the driver says of their processes,
 * once a second. Who cheats is told about, and dealt with as the operator wants. */
#pragma once

#include "gpu_watch.h"
#include "node_arbiter.h"
#include "node_options.h"
#include "share_book.h"
#include "str.h"
#include "tenant_check.h"

struct tenant_watch;

struct tenant_watch_options {
        struct share_book *book;
        struct gpu_watch *gpus;
        struct node_arbiter *arbiter; /* is told of GPU time that nobody said; NULL is fine */
        enum cheat_policy policy;
        /* It is certain; the sentence is whole. NULL is fine. */
        void (*on_cheat)(void *owner, const struct held_share *held, enum cheat cheat,
                         const char *sentence);
        /* By policy: it is to leave the node. NULL: its processes on the GPUs are killed. */
        void (*on_evict)(void *owner, const struct held_share *held, const char *sentence);
        void *owner;
};

int tenant_watch_new(struct loop *loop, const struct tenant_watch_options *options,
                     struct tenant_watch **ret_watch);
void tenant_watch_free(struct tenant_watch *watch); /* NULL is fine */

/* vgpu_container_cheats_total, for each container and kind that there was. 0 or -ENOMEM. */
int tenant_watch_print(const struct tenant_watch *watch, const char *node, struct str *out);
