/* plugin: one resource as kubelet's device plugin: serves its socket, registers it, and does both
 * again whenever kubelet has forgotten. */
#pragma once

#include "err.h"
#include "loop.h"
#include "slots.h"

struct plugin;

/* folder: kubelet's, which need not exist yet. Trouble is logged; it goes on trying. */
int plugin_new(struct loop *loop, const char *folder, const char *resource,
               const struct slots *slots, struct plugin **ret_plugin);

/* Something changed in kubelet's folder, or it is time to look: is all still as it should be? */
void plugin_look(struct plugin *plugin);

/* The slots are others now, or others are healthy: kubelet is told. */
void plugin_set_slots(struct plugin *plugin, const struct slots *slots);

void plugin_free(struct plugin *plugin); /* tells kubelet by ending its stream; NULL is fine */
