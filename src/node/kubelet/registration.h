/* SPDX-License-Identifier: Apache-2.0 */
/* registration: keeps what this Node says of its GPUs as it should be, and writes it only when it is
 * not: annotations, and for Volcano capacity of memory and cores. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "kube_watch.h"

struct registration;

/* What the Node says of the GPUs; owned texts. */
struct registration_content {
        char *devices, *config;
        char *links;   /* NULL: none are linked */
        char *volcano; /* NULL: nothing for Volcano's scheduler */
        /* For Volcano, which reads them as capacity of the Node. */
        uint64_t volcano_memory_mib, volcano_cores;
};

/* The content becomes the registration's, also on failure. Trouble is logged; it goes on trying. */
int registration_new(struct kube_client *client, const char *node_name,
                     const struct registration_content *content,
                     struct registration **ret_registration);
/* Other GPUs, or another state of theirs; the content becomes the registration's. One without
 * devices or config (memory was short) is ignored. */
void registration_set(struct registration *registration,
                      const struct registration_content *content);
void registration_free(struct registration *registration); /* NULL is fine */
struct kube_watch_state registration_state(const struct registration *registration);
