/* SPDX-License-Identifier: Apache-2.0 */
/* tls: GnuTLS behind a few functions: who we are, whom we believe, and one session per connection.
 *
 * A context can be changed while it is in use: sessions that exist keep what they began with. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct tls_context;
struct tls_session;

/* PEM texts; NULL: none. A server needs certificate and key; with authorities it serves only clients that
 * have a certificate of theirs. A client needs the authorities that it believes (NULL: the system's) and
 * may have a certificate of its own. */
struct tls_credentials {
        const char *certificate, *key;
        const char *authorities;
};

int tls_server_new(const struct tls_credentials *credentials, struct tls_context **ret_context,
                   struct err *e);
int tls_client_new(const struct tls_credentials *credentials, struct tls_context **ret_context,
                   struct err *e);
void tls_context_free(struct tls_context *context); /* NULL is fine; sessions live on */

/* For the sessions to come. On failure the old ones stay. */
int tls_context_replace(struct tls_context *context, const struct tls_credentials *credentials,
                        struct err *e);

/* A client does not look at the server's certificate: for tests and for those who ask for it. */
void tls_context_trust_all(struct tls_context *context);

/* Over a connected non-blocking socket, which stays the caller's. Offers or takes h2; http/1.1 too
 * on a server. server_name is what a client's peer must be called; NULL on a server. */
int tls_session_new(struct tls_context *context, int fd, const char *server_name,
                    struct tls_session **ret_session, struct err *e);
void tls_session_free(struct tls_session *session);

/* 0: done; -EAGAIN: call again when the socket is ready, for writing if tls_wants_write(). */
int tls_handshake(struct tls_session *session, struct err *e);
bool tls_wants_write(const struct tls_session *session);
bool tls_is_h2(const struct tls_session *session); /* was it agreed on? */

/* As read(2) and write(2) on a non-blocking socket, with a negative errno. A write that would block
 * must be repeated with the same bytes. */
ssize_t tls_read(struct tls_session *session, void *bytes, size_t count);
ssize_t tls_write(struct tls_session *session, const void *bytes, size_t count);
void tls_goodbye(struct tls_session *session);
