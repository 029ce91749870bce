/* SPDX-License-Identifier: Apache-2.0 */
/* kube_watch: tells of every object of a kind and of every change, for as long as it lives: lists,
 * watches from there, and begins anew where the API server has forgotten. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "kube_changes.h"
#include "kube_client.h"

struct kube_watch;

struct kube_watch_options {
        const char *path;  /* "/api/v1/pods" */
        const char *query; /* "fieldSelector=spec.nodeName%3Dn1"; NULL: none */
        /* Members that nobody will look at, wherever they stand; NULL ends them. A tree of what is left
         * is made in a fraction of the time. NULL: everything is told. */
        const char *const *without;
        unsigned page;              /* objects per answer to a list (500) */
        size_t object_bytes;        /* of one object at most (4 MiB) */
        unsigned first_ms, most_ms; /* of waiting after trouble (200 ms, 30 s) */

        /* The object is gone when it returns; it is NULL for one that vanished while nobody watched.
         * An object is told as added once, then as modified if it really was, then as deleted; one of
         * the same name and another uid is another object. */
        void (*on_change)(void *owner, enum kube_change change, const struct kube_name *name,
                          const json_t *object);
        /* All that there is has been told; after every list. NULL is fine. */
        void (*on_synced)(void *owner);
        /* It does not go on for the moment, and will be tried again. NULL is fine. */
        void (*on_trouble)(void *owner, const struct err *e);
        /* An object cannot be read, or not as it is: it is left out or tamed (json_tame.h), and all others
         * are told. What was told of it stays until it is gone. NULL is fine. */
        void (*on_bad)(void *owner, const struct err *e);
        void *owner;
};

int kube_watch_new(struct kube_client *client, const struct kube_watch_options *options,
                   struct kube_watch **ret_watch);
void kube_watch_free(struct kube_watch *watch); /* also from inside its callbacks; NULL is fine */
/* Its owner could not take in something, for want of memory: after a while all objects are told again, as modified, and
 * then that it is in sync. Also from inside its callbacks. */
void kube_watch_repeat(struct kube_watch *watch);

/* How it stands. */
struct kube_watch_state {
        bool is_open;      /* the API server tells of changes as they come */
        uint64_t heard_ns; /* when it last said anything; 0: never */
        uint64_t troubles; /* told so far */
        uint64_t bad;      /* objects that could not be read, or not as they were */
};
struct kube_watch_state kube_watch_state(const struct kube_watch *watch);
