/* SPDX-License-Identifier: Apache-2.0 */
/* Making certificates with GnuTLS. */
#include "tls_authority.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EARLIER_S = 300 }; /* the peer's clock may be behind ours */

/* An authority outlives what the clock says while it is made: no machine that runs this release is right about an earlier
 * time, and one that is ahead, or without a clock, makes an authority for those that are right, too. */
#define RELEASED_S ((time_t)1735689600) /* 2025 */

/* What a certificate is made of; both are freed together. */
struct draft {
        gnutls_x509_crt_t certificate;
        gnutls_x509_privkey_t key;
};

static int authority_error(struct err *e, int code, const char *what)
{
        return err_set(e, code == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EINVAL, "%s: %s", what,
                       gnutls_strerror(code));
}

static int draft_init(struct draft *draft)
{
        int r = gnutls_x509_crt_init(&draft->certificate);

        if (r < 0)
                return r;
        r = gnutls_x509_privkey_init(&draft->key);
        if (r < 0)
                gnutls_x509_crt_deinit(draft->certificate);
        return r;
}

static void draft_done(struct draft *draft)
{
        gnutls_x509_crt_deinit(draft->certificate);
        gnutls_x509_privkey_deinit(draft->key);
}

struct span {
        time_t begin_s, end_s;
};

/* Of a certificate that is made again in time. */
static struct span span_of_days(unsigned days)
{
        const time_t now_s = time(NULL);

        return (struct span){ now_s - EARLIER_S, now_s + (time_t)days * 86400 };
}

static struct span span_of_authority(unsigned days)
{
        struct span span = span_of_days(days);
        const time_t least_s = RELEASED_S + (time_t)days * 86400;

        if (span.begin_s > RELEASED_S)
                span.begin_s = RELEASED_S;
        if (span.end_s < least_s)
                span.end_s = least_s;
        return span;
}

/* What all certificates have: a key, a number, a time. */
static int draft_begin(struct draft *draft, const char *name, struct span span)
{
        unsigned char serial[16];
        int r = gnutls_x509_privkey_generate(draft->key, GNUTLS_PK_ECDSA,
                                             GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);

        if (r == 0)
                r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
        serial[0] &= 0x7f; /* positive */
        serial[0] |= 0x40; /* and not begun by zeros */
        if (r == 0)
                r = gnutls_x509_crt_set_version(draft->certificate, 3);
        if (r == 0)
                r = gnutls_x509_crt_set_serial(draft->certificate, serial, sizeof serial);
        if (r == 0)
                r = gnutls_x509_crt_set_activation_time(draft->certificate, span.begin_s);
        if (r == 0)
                r = gnutls_x509_crt_set_expiration_time(draft->certificate, span.end_s);
        if (r == 0)
                r = gnutls_x509_crt_set_dn_by_oid(draft->certificate, GNUTLS_OID_X520_COMMON_NAME,
                                                  0, name, (unsigned)strnlen(name, 64));
        if (r == 0)
                r = gnutls_x509_crt_set_key(draft->certificate, draft->key);
        return r;
}

static int key_id(struct draft *draft, unsigned char *id, size_t *size)
{
        return gnutls_x509_crt_get_key_id(draft->certificate, 0, id, size);
}

static int add_name(gnutls_x509_crt_t certificate, const char *name)
{
        unsigned char bytes[sizeof(struct in6_addr)];

        if (inet_pton(AF_INET, name, bytes) == 1)
                return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS,
                                                            bytes, 4, GNUTLS_FSAN_APPEND);
        if (inet_pton(AF_INET6, name, bytes) == 1)
                return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS,
                                                            bytes, 16, GNUTLS_FSAN_APPEND);
        return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, name,
                                                    (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

static char *text_of(gnutls_datum_t *datum)
{
        char *text = strndup((const char *)datum->data, datum->size);

        gnutls_memset(datum->data, 0, datum->size);
        gnutls_free(datum->data);
        return text;
}

static int draft_export(struct draft *draft, struct tls_pair *ret_pair)
{
        gnutls_datum_t certificate = { 0 }, key = { 0 };
        struct tls_pair pair = { 0 };
        int r = gnutls_x509_crt_export2(draft->certificate, GNUTLS_X509_FMT_PEM, &certificate);

        if (r < 0)
                return r;
        pair.certificate = text_of(&certificate);
        r = gnutls_x509_privkey_export2_pkcs8(draft->key, GNUTLS_X509_FMT_PEM, NULL,
                                              GNUTLS_PKCS_PLAIN, &key);
        if (r == 0)
                pair.key = text_of(&key);
        if (r == 0 && (!pair.certificate || !pair.key))
                r = GNUTLS_E_MEMORY_ERROR;
        if (r < 0)
                tls_pair_done(&pair);
        else
                *ret_pair = pair;
        return r;
}

static int make(struct draft *draft, const char *name, unsigned days, struct tls_pair *ret_pair)
{
        unsigned char id[64];
        size_t id_size = sizeof id;
        int r = draft_begin(draft, name, span_of_authority(days));

        if (r == 0)
                r = gnutls_x509_crt_set_basic_constraints(draft->certificate, 1, 0);
        if (r == 0)
                r = gnutls_x509_crt_set_key_usage(draft->certificate,
                                                  GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
        if (r == 0)
                r = key_id(draft, id, &id_size);
        if (r == 0)
                r = gnutls_x509_crt_set_subject_key_id(draft->certificate, id, id_size);
        if (r == 0)
                r = gnutls_x509_crt_sign2(draft->certificate, draft->certificate, draft->key,
                                          GNUTLS_DIG_SHA256, 0);
        return r == 0 ? draft_export(draft, ret_pair) : r;
}

int tls_authority_make(const char *name, unsigned days, struct tls_pair *ret_pair, struct err *e)
{
        struct draft draft;
        int r = draft_init(&draft);

        if (r == 0) {
                r = make(&draft, name, days, ret_pair);
                draft_done(&draft);
        }
        return r < 0 ? authority_error(e, r, "cannot make an authority") : 0;
}

static int load(struct draft *draft, const struct tls_pair *pair)
{
        gnutls_datum_t certificate = { (unsigned char *)pair->certificate,
                                       (unsigned)strlen(pair->certificate) };
        gnutls_datum_t key = { (unsigned char *)pair->key, (unsigned)strlen(pair->key) };
        int r = gnutls_x509_crt_import(draft->certificate, &certificate, GNUTLS_X509_FMT_PEM);

        return r == 0 ? gnutls_x509_privkey_import2(draft->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0)
                      : r;
}

/* What a certificate is for. */
struct purpose {
        const char *const *names; /* ends with NULL; the first is its own */
        const char *oid;
        unsigned days;
};

static int sign(struct draft *draft, struct draft *authority, const struct purpose *purpose,
                struct tls_pair *ret_pair)
{
        const char *const *names = purpose->names;
        unsigned char id[64];
        size_t id_size = sizeof id;
        int r = draft_begin(draft, names[0] ? names[0] : "vgpu", span_of_days(purpose->days));

        for (size_t i = 0; r == 0 && names[i]; i++)
                r = add_name(draft->certificate, names[i]);
        if (r == 0)
                r = gnutls_x509_crt_set_basic_constraints(draft->certificate, 0, -1);
        if (r == 0)
                r = gnutls_x509_crt_set_key_usage(draft->certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
        if (r == 0)
                r = gnutls_x509_crt_set_key_purpose_oid(draft->certificate, purpose->oid, 0);
        if (r == 0)
                r = key_id(authority, id, &id_size);
        if (r == 0)
                r = gnutls_x509_crt_set_authority_key_id(draft->certificate, id, id_size);
        if (r == 0)
                r = gnutls_x509_crt_sign2(draft->certificate, authority->certificate,
                                          authority->key, GNUTLS_DIG_SHA256, 0);
        return r == 0 ? draft_export(draft, ret_pair) : r;
}

static int sign_for(const struct tls_pair *authority, const struct purpose *purpose,
                    struct tls_pair *ret_pair, struct err *e)
{
        struct draft draft, issuer;
        int r = draft_init(&draft);

        if (r < 0)
                return authority_error(e, r, "cannot make a certificate");
        r = draft_init(&issuer);
        if (r == 0) {
                r = load(&issuer, authority);
                if (r == 0)
                        r = sign(&draft, &issuer, purpose, ret_pair);
                draft_done(&issuer);
        }
        draft_done(&draft);
        return r < 0 ? authority_error(e, r, "cannot make a certificate") : 0;
}

int tls_authority_sign(const struct tls_pair *authority, const char *const names[], unsigned days,
                       struct tls_pair *ret_pair, struct err *e)
{
        const struct purpose purpose = { names, GNUTLS_KP_TLS_WWW_SERVER, days };

        return sign_for(authority, &purpose, ret_pair, e);
}

int tls_authority_sign_client(const struct tls_pair *authority, const char *name, unsigned days,
                              struct tls_pair *ret_pair, struct err *e)
{
        const char *const names[] = { name, NULL };
        const struct purpose purpose = { names, GNUTLS_KP_TLS_WWW_CLIENT, days };

        return sign_for(authority, &purpose, ret_pair, e);
}

int tls_certificate_times(const char *certificate, int64_t *ret_begin_s, int64_t *ret_end_s,
                          struct err *e)
{
        gnutls_datum_t text = { (unsigned char *)certificate, (unsigned)strlen(certificate) };
        gnutls_x509_crt_t parsed;
        time_t begin = -1, end = -1;
        int r = gnutls_x509_crt_init(&parsed);

        if (r < 0)
                return authority_error(e, r, "cannot read a certificate");
        r = gnutls_x509_crt_import(parsed, &text, GNUTLS_X509_FMT_PEM);
        if (r == 0) {
                begin = gnutls_x509_crt_get_activation_time(parsed);
                end = gnutls_x509_crt_get_expiration_time(parsed);
        }
        gnutls_x509_crt_deinit(parsed);
        if (r < 0 || begin == -1 || end == -1)
                return authority_error(e, r, "cannot read a certificate");
        *ret_begin_s = begin;
        *ret_end_s = end;
        return 0;
}

bool tls_certificate_is_fresh(int64_t begin_s, int64_t end_s)
{
        const int64_t now_s = time(NULL);

        return now_s >= begin_s && now_s < begin_s + (end_s - begin_s) / 3 * 2;
}

void tls_pair_done(struct tls_pair *pair)
{
        if (pair->key)
                explicit_bzero(pair->key, strlen(pair->key));
        free(pair->certificate);
        free(pair->key);
        *pair = (struct tls_pair){ 0 };
}
