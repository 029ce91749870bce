/* SPDX-License-Identifier: Apache-2.0 */
/* The oldest first, one at a time: they are rare. */
#include "assumption.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hash.h"
#include "list.h"
#include "str.h"

struct assumption {
        struct hash_link link;
        struct list by_age_link; /* by age */
        uint64_t due_ns;
        char uid[64], namespace_name[64], pod[256];
};

struct assumptions {
        struct kube_client *client;
        uint64_t patience_ns;
        void (*on_seen)(void *owner, const char *uid, const json_t *pod);
        void *owner;
        struct hash all;
        struct list by_age;
        struct timer timer;
        struct kube_call *call;
        struct assumption *asked; /* whom the call is about; NULL: it is over by now */
};

static struct assumption *assumption_find(const struct assumptions *assumptions, const char *uid)
{
        struct hash_link *link = hash_find(&assumptions->all, uid);

        return link ? container_of(link, struct assumption, link) : NULL;
}

/* Waits for the oldest; while one is asked about, for its answer. */
static void timer_arm(struct assumptions *assumptions)
{
        struct loop *loop = kube_client_loop(assumptions->client);
        const uint64_t now_ns = clock_now_ns();

        if (assumptions->call || list_is_empty(&assumptions->by_age)) {
                loop_timer_clear(loop, &assumptions->timer);
                return;
        }
        const struct assumption *oldest =
                container_of(assumptions->by_age.next, struct assumption, by_age_link);

        loop_timer_set(loop, &assumptions->timer,
                       oldest->due_ns > now_ns ? oldest->due_ns - now_ns : 0);
}

static void assumption_wait(struct assumptions *assumptions, struct assumption *assumption)
{
        assumption->due_ns = clock_now_ns() + assumptions->patience_ns;
        list_remove(&assumption->by_age_link);
        list_append(&assumptions->by_age, &assumption->by_age_link);
}

static void on_answer(void *owner, const struct kube_answer *answer)
{
        struct assumptions *assumptions = owner;
        struct assumption *asked = assumptions->asked;
        const bool is_known = (answer->status == 200 && answer->body) || answer->status == 404;

        assumptions->call = NULL;
        assumptions->asked = NULL;
        if (asked && is_known) {
                char uid[sizeof asked->uid];

                str_copy(uid, sizeof uid, asked->uid);
                assumptions_forget(assumptions, uid);
                assumptions->on_seen(assumptions->owner, uid,
                                     answer->status == 200 ? answer->body : NULL);
        } else if (asked) {
                assumption_wait(assumptions, asked); /* holding too much is safer than too little */
        }
        timer_arm(assumptions);
}

static void on_due(struct timer *timer)
{
        struct assumptions *assumptions = container_of(timer, struct assumptions, timer);
        struct assumption *oldest =
                container_of(assumptions->by_age.next, struct assumption, by_age_link);
        char path[512];
        const struct kube_request request = { .method = "GET", .path = path };

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s", oldest->namespace_name,
                 oldest->pod);
        assumptions->asked = oldest;
        if (kube_client_call(assumptions->client, &request, on_answer, assumptions,
                             &assumptions->call) == 0)
                return;
        assumptions->asked = NULL;
        assumption_wait(assumptions, oldest);
        timer_arm(assumptions);
}

int assumptions_note(struct assumptions *assumptions, const char *uid, const char *namespace_name,
                     const char *pod)
{
        struct assumption *assumption = assumption_find(assumptions, uid);

        if (!assumption) {
                assumption = calloc(1, sizeof *assumption);
                if (!assumption)
                        return -ENOMEM;
                list_init(&assumption->by_age_link);
                str_copy(assumption->uid, sizeof assumption->uid, uid);
                str_copy(assumption->namespace_name, sizeof assumption->namespace_name,
                         namespace_name);
                str_copy(assumption->pod, sizeof assumption->pod, pod);
                if (hash_add(&assumptions->all, &assumption->link, assumption->uid) < 0) {
                        free(assumption);
                        return -ENOMEM;
                }
        }
        assumption_wait(assumptions, assumption);
        timer_arm(assumptions);
        return 0;
}

void assumptions_forget(struct assumptions *assumptions, const char *uid)
{
        struct assumption *assumption = assumption_find(assumptions, uid);

        if (!assumption)
                return;
        if (assumptions->asked == assumption)
                assumptions->asked = NULL;
        hash_remove(&assumptions->all, &assumption->link);
        list_remove(&assumption->by_age_link);
        free(assumption);
        timer_arm(assumptions);
}

int assumptions_new(struct kube_client *client, uint64_t patience_ns,
                    void (*on_seen)(void *owner, const char *uid, const json_t *pod), void *owner,
                    struct assumptions **ret_assumptions)
{
        struct assumptions *assumptions = calloc(1, sizeof *assumptions);

        if (!assumptions)
                return -ENOMEM;
        assumptions->client = client;
        assumptions->patience_ns = patience_ns;
        assumptions->on_seen = on_seen;
        assumptions->owner = owner;
        assumptions->timer.on_due = on_due;
        list_init(&assumptions->by_age);
        *ret_assumptions = assumptions;
        return 0;
}

void assumptions_free(struct assumptions *assumptions)
{
        struct hash_link *link;

        if (!assumptions)
                return;
        if (assumptions->call)
                kube_call_cancel(assumptions->call);
        while ((link = hash_any(&assumptions->all)))
                assumptions_forget(assumptions, link->key);
        loop_timer_clear(kube_client_loop(assumptions->client), &assumptions->timer);
        hash_done(&assumptions->all);
        free(assumptions);
}
