/* SPDX-License-Identifier: Apache-2.0 */
/* tls_keeper: keeps a server's certificate good without a restart: reads mounted files again when they
 * changed, or makes a new one of our own when two thirds of the old one's time are over. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "loop.h"
#include "tls.h"
#include "tls_authority.h"

struct tls_keeper;

struct tls_keeper_options {
        /* Mounted files, … */
        const char *certificate_path, *key_path;
        const char
                *clients_path; /* authorities of the only clients that are served; NULL: all are */
        bool may_lack_files;   /* until there is a certificate in the file, our own serves */
        /* … or our own: the authority (copied; NULL: one that nobody knows), whom it is for, and for how long. */
        const struct tls_pair *authority;
        const char *const *names; /* ends with NULL; lives as long as the keeper */
        unsigned days;
        bool asks_clients; /* serves only clients whom the authority signed */

        unsigned poll_ms; /* how often it is checked for a change (10 s) */
        /* After each change (e NULL), and when one failed: the old certificate serves on. */
        void (*on_change)(void *owner, const struct err *e);
        void *owner;
};

/* Makes or reads the first one; the context is the keeper's. */
int tls_keeper_new(struct loop *loop, const struct tls_keeper_options *options,
                   struct tls_keeper **ret_keeper, struct err *e);
struct tls_context *tls_keeper_context(struct tls_keeper *keeper);
/* Our own certificate is of this authority (copied) from now on. On failure the old one stays. */
int tls_keeper_adopt(struct tls_keeper *keeper, const struct tls_pair *authority, struct err *e);
void tls_keeper_free(struct tls_keeper *keeper); /* after the servers that use its context */
