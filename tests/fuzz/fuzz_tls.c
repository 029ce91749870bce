/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: certificate and key files. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tls.h"
#include "tls_authority.h"

const char *const fuzz_words[] = { "-----BEGIN CERTIFICATE-----\n",
                                   "-----END CERTIFICATE-----\n",
                                   "-----BEGIN PRIVATE KEY-----\n",
                                   "-----END PRIVATE KEY-----\n",
                                   "MII",
                                   "==",
                                   NULL };

/* One authority for all: making it is slow. */
static struct tls_pair authority;

/* A good key, from some place on overwritten with the input. */
static char *spoilt_key(const char *text)
{
        char *key = strdup(authority.key);
        size_t length = strlen(key), count = strlen(text);
        size_t at = count * 7 % length;

        memcpy(key + at, text, count < length - at ? count : length - at);
        return key;
}

static void try_pair(const char *certificate, const char *key)
{
        static const char *const names[] = { "a", NULL };
        const struct tls_credentials server = { .certificate = certificate, .key = key };
        const struct tls_pair issuer = { authority.certificate, (char *)key };
        struct tls_context *context = NULL;
        struct tls_pair pair = { 0 };
        struct err e = { 0 };

        if (tls_server_new(&server, &context, &e) == 0)
                tls_context_free(context);
        if (tls_authority_sign(&issuer, names, 1, &pair, &e) == 0)
                tls_pair_done(&pair);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count);
        const struct tls_credentials client = { .authorities = text };
        struct tls_context *context = NULL;
        struct err e = { 0 };
        int64_t begin_s, end_s;
        char *key;

        if (!authority.key && tls_authority_make("fuzz", 1, &authority, &e) < 0)
                abort();
        tls_certificate_times(text, &begin_s, &end_s, &e);
        if (tls_client_new(&client, &context, &e) == 0)
                tls_context_free(context);
        key = spoilt_key(text);
        try_pair(text, text);
        try_pair(authority.certificate, key);
        free(key);
        free(text);
}
