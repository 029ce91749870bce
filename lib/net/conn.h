/* SPDX-License-Identifier: Apache-2.0 */
/* conn: one connected socket on the loop, plain or TLS. Knows no protocol: bytes come in, and bytes
 * to write are asked for when the socket can take them, so that nothing piles up here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "loop.h"
#include "tls.h"

struct conn;

struct conn_protocol {
        /* Connected, and TLS agreed. < 0 closes. */
        int (*on_open)(void *owner);
        /* Bytes that arrived. < 0 closes. */
        int (*on_bytes)(void *owner, const uint8_t *bytes, size_t count);
        /* The next bytes to write, valid until the next call; 0: none now; < 0 closes. */
        ssize_t (*next_bytes)(void *owner, const uint8_t **ret_bytes);
        /* Asked when all is written: is there nothing more to say or hear? */
        bool (*is_done)(void *owner);
        /* The last call, never from inside another one. why->code is 0 for an ordinary end. */
        void (*on_close)(void *owner, const struct err *why);
};

/* Takes fd and tls (NULL: plain); they are closed with it, on failure too. */
int conn_new(struct loop *loop, int fd, struct tls_session *tls,
             const struct conn_protocol *protocol, void *owner, struct conn **ret_conn);

/* There may be bytes to write; they are asked for in a later turn. */
void conn_wake(struct conn *conn);

/* Nothing is read or written any more; on_close comes in the next turn. */
void conn_close(struct conn *conn, int code, const char *why);

bool conn_is_open(const struct conn *conn); /* connected, handshake over, not closed */
bool conn_is_h2(const struct conn *conn);   /* agreed on in TLS */
bool conn_has_tls(const struct conn *conn);
int conn_fd(const struct conn *conn);            /* for SO_PEERCRED */
uint64_t conn_heard_ns(const struct conn *conn); /* when bytes last came, by clock.h */
/* Since when the peer takes nothing of what we have for it; 0: it does. */
uint64_t conn_stuck_ns(const struct conn *conn);
