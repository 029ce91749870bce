/* SPDX-License-Identifier: Apache-2.0 */
/* TLS sessions and what they authenticate with. */
#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TLS 1.2 at least, as Kubernetes demands; no compression, no renegotiation by the peer. */
/* What HTTP/2 allows: keys of the moment, and ciphers that authenticate. */
static const char priorities[] =
        "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:"
        "+AES-128-GCM:-MAC-ALL:+AEAD:-RSA:-DHE-RSA:%SERVER_PRECEDENCE";

/* Shared by the context and by each session that began with them. */
struct keys {
        gnutls_certificate_credentials_t credentials;
        unsigned holders;
        bool asks_clients;
};

struct tls_context {
        struct keys *keys;
        bool is_server, trusts_all;
};

struct tls_session {
        gnutls_session_t session;
        struct keys *keys;
        char server_name[256]; /* GnuTLS keeps a pointer to it */
};

static int tls_error(struct err *e, int code, const char *what)
{
        return err_set(e, code == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EPROTO, "%s: %s", what,
                       gnutls_strerror(code));
}

static void keys_release(struct keys *keys)
{
        if (!keys || --keys->holders)
                return;
        gnutls_certificate_free_credentials(keys->credentials);
        free(keys);
}

static gnutls_datum_t datum_of(const char *pem)
{
        return (gnutls_datum_t){ .data = (unsigned char *)pem, .size = (unsigned)strlen(pem) };
}

static int keys_fill(struct keys *keys, const struct tls_credentials *from, bool is_server,
                     struct err *e)
{
        gnutls_datum_t first, second;
        int r;

        if (from->certificate && from->key) {
                first = datum_of(from->certificate);
                second = datum_of(from->key);
                r = gnutls_certificate_set_x509_key_mem(keys->credentials, &first, &second,
                                                        GNUTLS_X509_FMT_PEM);
                if (r < 0)
                        return tls_error(e, r, "cannot use the certificate and its key");
        }
        if (from->authorities) {
                first = datum_of(from->authorities);
                r = gnutls_certificate_set_x509_trust_mem(keys->credentials, &first,
                                                          GNUTLS_X509_FMT_PEM);
                if (r < 0)
                        return tls_error(e, r, "cannot use the authorities' certificates");
                if (r == 0)
                        return err_set(e, -EINVAL, "there is no CA certificate");
                keys->asks_clients = is_server;
        } else if (!is_server) {
                gnutls_certificate_set_x509_system_trust(keys->credentials);
        }
        return 0;
}

static int keys_new(const struct tls_credentials *from, bool is_server, struct keys **ret_keys,
                    struct err *e)
{
        struct keys *keys;
        int r;

        if (is_server && (!from->certificate || !from->key))
                return err_set(e, -EINVAL, "a TLS server needs a certificate and a key");
        keys = calloc(1, sizeof *keys);
        if (!keys)
                return err_set(e, -ENOMEM, "out of memory");
        r = gnutls_certificate_allocate_credentials(&keys->credentials);
        if (r < 0) {
                free(keys);
                return tls_error(e, r, "cannot begin TLS");
        }
        keys->holders = 1;
        r = keys_fill(keys, from, is_server, e);
        if (r < 0)
                keys_release(keys);
        else
                *ret_keys = keys;
        return r;
}

static int context_new(const struct tls_credentials *credentials, bool is_server,
                       struct tls_context **ret_context, struct err *e)
{
        struct tls_context *context = calloc(1, sizeof *context);
        int r;

        if (!context)
                return err_set(e, -ENOMEM, "out of memory");
        context->is_server = is_server;
        r = keys_new(credentials, is_server, &context->keys, e);
        if (r < 0)
                free(context);
        else
                *ret_context = context;
        return r;
}

int tls_server_new(const struct tls_credentials *credentials, struct tls_context **ret_context,
                   struct err *e)
{
        return context_new(credentials, true, ret_context, e);
}

int tls_client_new(const struct tls_credentials *credentials, struct tls_context **ret_context,
                   struct err *e)
{
        return context_new(credentials, false, ret_context, e);
}

void tls_context_free(struct tls_context *context)
{
        if (!context)
                return;
        keys_release(context->keys);
        free(context);
}

int tls_context_replace(struct tls_context *context, const struct tls_credentials *credentials,
                        struct err *e)
{
        struct keys *keys;
        int r = keys_new(credentials, context->is_server, &keys, e);

        if (r < 0)
                return r;
        keys_release(context->keys);
        context->keys = keys;
        return 0;
}

void tls_context_trust_all(struct tls_context *context)
{
        context->trusts_all = true;
}

static bool is_number_address(const char *name)
{
        unsigned char bytes[sizeof(struct in6_addr)];

        return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* Only a client whose certificate was made for clients, by an authority of ours. */
static void client_ask(gnutls_session_t tls)
{
        static gnutls_typed_vdata_st purpose = {
                .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT
        };

        gnutls_certificate_server_set_request(tls, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_cert2(tls, &purpose, 1, 0);
}

static int session_fill(struct tls_session *session, const struct tls_context *context, int fd,
                        const char *server_name)
{
        static const gnutls_datum_t protocols[] = { { (unsigned char *)"h2", 2 },
                                                    { (unsigned char *)"http/1.1", 8 } };
        gnutls_session_t tls = session->session;
        int r = gnutls_priority_set_direct(tls, priorities, NULL);

        if (r == 0)
                r = gnutls_credentials_set(tls, GNUTLS_CRD_CERTIFICATE, session->keys->credentials);
        if (r == 0)
                r = gnutls_alpn_set_protocols(tls, protocols, context->is_server ? 2 : 1,
                                              GNUTLS_ALPN_SERVER_PRECEDENCE);
        if (r == 0 && server_name) {
                snprintf(session->server_name, sizeof session->server_name, "%s", server_name);
                if (!is_number_address(server_name)) /* not allowed as an indication */
                        r = gnutls_server_name_set(tls, GNUTLS_NAME_DNS, server_name,
                                                   strlen(server_name));
                if (!context->trusts_all)
                        gnutls_session_set_verify_cert(tls, session->server_name, 0);
        }
        if (session->keys->asks_clients)
                client_ask(tls);
        gnutls_transport_set_int(tls, fd);
        gnutls_handshake_set_timeout(tls, 0); /* the loop's timers do that */
        return r;
}

int tls_session_new(struct tls_context *context, int fd, const char *server_name,
                    struct tls_session **ret_session, struct err *e)
{
        const unsigned flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL |
                               (context->is_server ? GNUTLS_SERVER : GNUTLS_CLIENT);
        struct tls_session *session = calloc(1, sizeof *session);
        int r;

        if (!session)
                return err_set(e, -ENOMEM, "out of memory");
        r = gnutls_init(&session->session, flags);
        if (r < 0) {
                free(session);
                return tls_error(e, r, "cannot begin TLS");
        }
        session->keys = context->keys;
        session->keys->holders++;
        r = session_fill(session, context, fd, server_name);
        if (r < 0) {
                tls_session_free(session);
                return tls_error(e, r, "cannot begin TLS");
        }
        *ret_session = session;
        return 0;
}

void tls_session_free(struct tls_session *session)
{
        if (!session)
                return;
        gnutls_deinit(session->session);
        keys_release(session->keys);
        free(session);
}

/* Why a certificate was not believed, in GnuTLS's words. */
static int verify_error(const struct tls_session *session, struct err *e)
{
        unsigned status = gnutls_session_get_verify_cert_status(session->session);
        gnutls_datum_t text = { 0 };

        gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
        err_set(e, -EKEYREJECTED, "the certificate of '%.80s' is not trusted: %s",
                *session->server_name ? session->server_name : "the client",
                text.data ? (char *)text.data : "");
        gnutls_free(text.data);
        return -EKEYREJECTED;
}

int tls_handshake(struct tls_session *session, struct err *e)
{
        int r = gnutls_handshake(session->session);

        if (r == 0)
                return 0;
        if (!gnutls_error_is_fatal(r))
                return -EAGAIN; /* warnings of the peer included */
        if (r == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
                return verify_error(session, e);
        return tls_error(e, r, "no TLS with the peer");
}

bool tls_wants_write(const struct tls_session *session)
{
        return gnutls_record_get_direction(session->session) == 1;
}

bool tls_is_h2(const struct tls_session *session)
{
        gnutls_datum_t agreed;

        return gnutls_alpn_get_selected_protocol(session->session, &agreed) == 0 &&
               agreed.size == 2 && memcmp(agreed.data, "h2", 2) == 0;
}

static ssize_t result_of(ssize_t r)
{
        if (r >= 0)
                return r;
        if (r == GNUTLS_E_PREMATURE_TERMINATION)
                return 0; /* an end without goodbye; both protocols above know their own ends */
        return gnutls_error_is_fatal((int)r) ? -EPROTO : -EAGAIN;
}

ssize_t tls_read(struct tls_session *session, void *bytes, size_t count)
{
        return result_of(gnutls_record_recv(session->session, bytes, count));
}

ssize_t tls_write(struct tls_session *session, const void *bytes, size_t count)
{
        return result_of(gnutls_record_send(session->session, bytes, count));
}

void tls_goodbye(struct tls_session *session)
{
        gnutls_bye(session->session, GNUTLS_SHUT_WR);
}
