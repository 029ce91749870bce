/* SPDX-License-Identifier: Apache-2.0 */
/* registry_server: answers the processes of containers (lib/contract/registry.h). Who asks is known by
 * SO_PEERCRED and the peer's control group; what it says of itself is for people. */
#pragma once

#include <sys/types.h>

#include "control_group.h"
#include "err.h"
#include "loop.h"
#include "registry.h"

struct registry_server;

struct registry_peer {
        pid_t pid; /* as this process sees it: the host's */
        struct control_group group;
};

struct registry_service {
        /* Whether the peer's container has a share: 0 or -EACCES; and, where the request asks for more
         * of a device (its uuid is not empty), whether it has that now: *ret_raised as in the reply. */
        int (*on_register)(void *owner, const struct registry_peer *peer,
                           const struct registry_request *request, int *ret_raised);
        void *owner;
};

/* Listens at FOLDER/socket; the folder is made. */
int registry_server_new(struct loop *loop, const char *folder,
                        const struct registry_service *service, struct registry_server **ret_server,
                        struct err *e);
void registry_server_free(struct registry_server *server); /* NULL is fine */

unsigned registry_server_connections(const struct registry_server *server);
