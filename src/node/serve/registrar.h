/* SPDX-License-Identifier: Apache-2.0 */
/* registrar: which share has a process that registers, and may its environment raise it? */
#pragma once

#include "node_options.h"
#include "registry_server.h"
#include "share_fit.h"

struct registrar {
        const struct share_fit *fit;
        enum env_ceiling ceiling;
        /* A process registers whose share is not known: search for it once more. NULL is fine. */
        void (*on_stranger)(void *stranger_owner);
        void *stranger_owner;
        /* A share was raised. NULL is fine. */
        void (*on_raise)(void *owner, struct held_share *held);
        void *owner;
};

/* As registry_service wants it; the owner is the registrar. */
int registrar_register(void *owner, const struct registry_peer *peer,
                       const struct registry_request *request, int *ret_raised);
