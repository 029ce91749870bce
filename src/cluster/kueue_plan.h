/* SPDX-License-Identifier: Apache-2.0 */
/* kueue_plan: what Kueue must be told so that it counts this cluster's GPUs: a ResourceFlavor, a
 * ClusterQueue, a LocalQueue, and a part of Kueue's own configuration. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"
#include "vec.h"

/* Who turns MIG profiles into GB of gpu.das.com/mem: never both, or it counts twice. */
enum kueue_mode {
        KUEUE_INJECT,    /* vgpu-webhook, in pods and in templates of Jobs */
        KUEUE_TRANSFORM, /* Kueue, by resources.transformations */
};

enum { KUEUE_NAME = 128 };

struct kueue_total {
        char name[KUEUE_NAME];
        int64_t amount; /* of cpu: thousandths */
        bool is_given;  /* by --quota: what nodes have does not matter */
};

struct kueue_plan {
        enum kueue_mode mode;
        const char *flavor, *cluster_queue, *local_queue, *namespace_name;
        const char *version; /* of Kueue's interface: "v1beta2" */
        struct vec names;    /* of char[KUEUE_NAME]: by which pods may ask, sorted, each once */
        struct vec totals;   /* of struct kueue_total */
};

#define KUEUE_MEMORY_UNITS "gpu.das.com/mem"

void kueue_plan_init(struct kueue_plan *plan);
void kueue_plan_done(struct kueue_plan *plan);

/* A name by which pods may ask for GPUs. -EINVAL: it is none. */
int kueue_plan_add_name(struct kueue_plan *plan, const char *name, struct err *e);
/* What a Node has: names and amounts. A node without GPUs of ours adds nothing. 0 or -ENOMEM. */
int kueue_plan_add_node(struct kueue_plan *plan, const json_t *node);
/* "NAME=AMOUNT" */
int kueue_plan_set_quota(struct kueue_plan *plan, const char *text, struct err *e);
/* Is there an amount for all that is counted? -ENODATA: the sentence says for what not. */
int kueue_plan_check(const struct kueue_plan *plan, struct err *e);

/* YAML: the objects, for kubectl apply; and what goes into Kueue's configuration, each line after
 * `prefix` ("# " makes it a comment). */
void kueue_plan_print_objects(const struct kueue_plan *plan, FILE *to);
void kueue_plan_print_manager(const struct kueue_plan *plan, const char *prefix, FILE *to);

/* The names, read as resources. */
struct resource;
bool kueue_plan_name_at(const struct kueue_plan *plan, size_t index, const char **ret_name,
                        struct resource *ret_resource);
