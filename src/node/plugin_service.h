/* plugin_service: what kubelet asks a device plugin. */
#pragma once

#include <stdbool.h>

#include "grpc_server.h"
#include "slots.h"

enum { WATCHERS_MOST = 4 }; /* kubelet has one, and one more while it restarts */

struct plugin_service {
        const char *resource; /* for sentences */
        struct slots slots;
        struct plugin_watcher {
                struct plugin_service *service;
                struct grpc_call *call; /* NULL: free */
        } watchers[WATCHERS_MOST];
};

extern const struct grpc_method plugin_service_methods[]; /* their owner is the service */

void plugin_service_init(struct plugin_service *service, const char *resource,
                         const struct slots *slots);
void plugin_service_set_slots(struct plugin_service *service, const struct slots *slots);
bool plugin_service_is_heard(const struct plugin_service *service); /* does anybody listen? */
