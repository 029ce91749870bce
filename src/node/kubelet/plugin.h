/* SPDX-License-Identifier: Apache-2.0 */
/* plugin: one resource as kubelet's device plugin: serves its socket, registers it, and does both
 * again whenever kubelet has forgotten. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "loop.h"
#include "offer_list.h"
#include "plugin_service.h"

struct plugin;

/* folder: kubelet's, which need not exist yet. Trouble is logged; it goes on trying. The
 * counsel is copied. */
int plugin_new(struct loop *loop, const char *folder, const struct offer *offer,
               const struct plugin_counsel *counsel, struct plugin **ret_plugin);

/* Something changed in kubelet's folder, or time has passed: is all still as it should be? */
void plugin_check(struct plugin *plugin);

/* kubelet gives out none of this resource. */
void plugin_found_empty(struct plugin *plugin);

const char *plugin_resource(const struct plugin *plugin);

/* Tells kubelet unless it knows already. Of the same resource, kinds may differ. */
void plugin_set_offer(struct plugin *plugin, const struct offer *offer);

struct plugin_state {
        const char *resource;
        unsigned count, healthy;
        bool is_registered; /* kubelet took it, and listens */
        uint64_t registrations;
};
struct plugin_state plugin_state(const struct plugin *plugin);

void plugin_free(struct plugin *plugin); /* tells kubelet by ending its stream; NULL is fine */
