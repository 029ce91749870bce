/* SPDX-License-Identifier: Apache-2.0 */
/* kube_secret: a Secret that replicas share: the first replica creates it, the others read it. */
#pragma once

#include "kube_client.h"
#include "tls_authority.h"

/* An entry of a Secret's data. NULL: out of memory. */
json_t *kube_secret_encode(const void *bytes, size_t count);
/* The entry as it was put in, with a NUL behind it; NULL: none. */
char *kube_secret_entry(const json_t *data, const char *key, size_t *ret_count);

/* An authority that lasts ten years as the data of a Secret: ca.crt, ca.key. The caller may add to it. */
json_t *kube_secret_authority(const char *name, struct err *e);
/* The authority of such a Secret; false: it has none. */
bool kube_secret_take_authority(const json_t *data, struct tls_pair *ret_authority);

struct kube_secret;

struct kube_secret_options {
        const char *namespace_name, *name;
        const char *entries;                         /* what it must have, for people */
        json_t *(*make)(void *owner, struct err *e); /* the data of a new one; NULL: it cannot be */
        bool (*take)(void *owner, const json_t *data); /* false: something lacks */
        void (*on_taken)(void *owner); /* once; the kube_secret may be freed in it */
        void (*on_trouble)(void *owner, const struct err *e); /* it is tried again */
        void *owner;
};

/* Goes on by itself, and tries again for as long as it takes. */
int kube_secret_new(struct kube_client *client, const struct kube_secret_options *options,
                    struct kube_secret **ret_secret);
void kube_secret_free(struct kube_secret *secret); /* NULL is fine */

/* {"apiVersion":"v1","kind":"Secret",…}; the data is taken over. */
json_t *kube_secret_object(const char *name, const char *type, json_t *data);
