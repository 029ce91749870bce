/* SPDX-License-Identifier: Apache-2.0 */
/* tls_authority: certificates of our own making, where nobody else hands them out: an authority, and
 * what it signs. All as PEM texts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct tls_pair {
        char *certificate, *key; /* owned */
};

/* An authority of that name; ECDSA on P-256. It is good for at least so many days, also if the clock is wrong by years
 * while it is made. */
int tls_authority_make(const char *name, unsigned days, struct tls_pair *ret_pair, struct err *e);

/* A server's certificate for the names and number addresses of the list (ends with NULL), signed by
 * the authority. */
int tls_authority_sign(const struct tls_pair *authority, const char *const names[], unsigned days,
                       struct tls_pair *ret_pair, struct err *e);

/* A client's certificate: the name says who it is. */
int tls_authority_sign_client(const struct tls_pair *authority, const char *name, unsigned days,
                              struct tls_pair *ret_pair, struct err *e);

/* When a certificate was given and when it ends, in seconds of the wall clock. */
int tls_certificate_times(const char *certificate, int64_t *ret_begin_s, int64_t *ret_end_s,
                          struct err *e);

/* By the wall clock it has begun, and two thirds of its time are not over. Clocks jump: a certificate may be good later. */
bool tls_certificate_is_fresh(int64_t begin_s, int64_t end_s);

void tls_pair_done(struct tls_pair *pair); /* zeroed is fine */
