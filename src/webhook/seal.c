/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDs of containers, and their seal: "SECONDS.HMAC". */
#include "seal.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "scope.h"

enum { DIGEST_BYTES = 32 };

static int text_make(const struct seal *seal, const char *pod_namespace, const char *uuids,
                     uint64_t at_s, char ret_text[static SEAL_TEXT])
{
        unsigned char digest[DIGEST_BYTES];
        autofree char *sealed = NULL;
        int length;

        const int count = asprintf(&sealed, "%" PRIu64 "\n%s\n%s", at_s, pod_namespace, uuids);

        if (count < 0 || gnutls_hmac_fast(GNUTLS_MAC_SHA256, seal->key, SEAL_KEY_BYTES, sealed,
                                          (size_t)count, digest) < 0)
                return -EIO;
        length = snprintf(ret_text, SEAL_TEXT, "%" PRIu64 ".", at_s);
        for (unsigned i = 0; i < DIGEST_BYTES; i++)
                length += snprintf(ret_text + length, (size_t)(SEAL_TEXT - length), "%02x",
                                   digest[i]);
        return 0;
}

int seal_make(const struct seal *seal, const char *pod_namespace, const char *uuids,
              char ret_text[static SEAL_TEXT])
{
        return text_make(seal, pod_namespace, uuids, seal->now_s(), ret_text);
}

bool seal_is_ours(const struct seal *seal, const char *pod_namespace, const char *uuids,
                  const char *text)
{
        char expected[SEAL_TEXT], *end;
        const uint64_t at_s = strtoull(text, &end, 10);

        if (*end != '.' || text_make(seal, pod_namespace, uuids, at_s, expected) < 0)
                return false;
        return strlen(text) == strlen(expected) &&
               gnutls_memcmp(text, expected, strlen(expected)) == 0;
}

bool seal_holds(const struct seal *seal, const char *pod_namespace, const char *uuids,
                const char *text)
{
        const uint64_t now_s = seal->now_s(), at_s = strtoull(text, NULL, 10);
        const uint64_t apart_s = at_s < now_s ? now_s - at_s : at_s - now_s;

        /* Another replica's clock may be ahead of ours. */
        return apart_s <= SEAL_LIFE_S && seal_is_ours(seal, pod_namespace, uuids, text);
}

int seal_uuid(char ret_uuid[static 37])
{
        unsigned char b[16];

        if (getrandom(b, sizeof b, 0) != sizeof b)
                return -errno;
        b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
        b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
        snprintf(ret_uuid, 37,
                 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
                 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
                 b[15]);
        return 0;
}
