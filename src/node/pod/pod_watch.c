/* SPDX-License-Identifier: Apache-2.0 */
/* Pods come and go, and their shares with them. */
#include "pod_watch.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json_read.h"
#include "kube_watch.h"
#include "log.h"
#include "log_limit.h"
#include "pod_process.h"
#include "pod_shares.h"
#include "seen_pod.h"

/* After a change, and how often it is checked whether the processes of pods that are over have gone. */
enum { TIDY_MS = 2000 };
/* How long the watch may take to confirm a pod. */
enum { UNCONFIRMED_S = 120 };
/* Until what could not be taken in is asked for again. */
enum { AGAIN_LEAST_MS = 1000, AGAIN_MOST_MS = 30000 };

struct pod_watch {
        struct pod_watch_options options;
        struct loop *loop;
        struct kube_watch *watch;
        char *query;
        struct seen_pods seen;
        struct timer tidy, again;
        uint64_t again_ms;
        bool has_going;       /* some share is of a pod that is over */
        bool has_unconfirmed; /* some pod was learned of from vgpu-scheduler, and not seen yet */
        bool has_unknown;     /* there was no memory to know of some pod */
        bool is_troubled;     /* said so already */
        struct log_limit unread_log, refusal_log;
};

static void tidy_soon(struct pod_watch *watch)
{
        if (!watch->tidy.is_set)
                loop_timer_set(watch->loop, &watch->tidy, TIDY_MS * NS_PER_MS);
}

static void on_again(struct timer *timer)
{
        struct pod_watch *watch = container_of(timer, struct pod_watch, again);

        watch->has_unknown = false; /* all are told again */
        kube_watch_repeat(watch->watch);
}

/* What the pod says could not all become shares, and nothing of that is the pod's fault: it is told again. */
static void again_later(struct pod_watch *watch)
{
        if (watch->again.is_set)
                return;
        watch->again_ms = watch->again_ms ? watch->again_ms * 2 : AGAIN_LEAST_MS;
        if (watch->again_ms > AGAIN_MOST_MS)
                watch->again_ms = AGAIN_MOST_MS;
        loop_timer_set(watch->loop, &watch->again, watch->again_ms * NS_PER_MS);
}

struct going {
        struct pod_watch *watch;
        const char *uid;
};

static void mark_going(void *owner, struct held_share *held)
{
        struct going *going = owner;

        if (strcmp(held->pod_uid, going->uid) == 0)
                held->is_going = going->watch->has_going = true;
}

/* Its containers may still be ending: a share goes with the last process of the pod. */
static void pod_end(struct pod_watch *watch, const char *uid)
{
        struct going going = { watch, uid };

        seen_pods_forget(&watch->seen, uid);
        share_book_each(watch->options.shares, mark_going, &going);
}

static bool is_over(const json_t *pod)
{
        const char *phase = json_read_text_in(pod, "status", "phase");

        return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static void on_change(void *owner, enum kube_change change, const struct kube_name *name,
                      const json_t *pod)
{
        struct pod_watch *watch = owner;
        struct seen_pod *seen;

        watch->is_troubled = false;
        tidy_soon(watch);
        if (change == KUBE_DELETED || is_over(pod))
                return pod_end(watch, name->uid);
        seen = seen_pods_take(&watch->seen, name->uid);
        if (!seen) {
                log_error("out of memory: pod %s/%s is not known yet", name->namespace_name,
                          name->name);
                watch->has_unknown = true;
                return again_later(watch);
        }
        seen->learned_ns = 0;
        if (pod_shares_apply(&watch->options, seen, pod) < 0)
                again_later(watch);
}

void pod_watch_learn(struct pod_watch *watch, const json_t *pod)
{
        const char *uid = json_read_text_in(pod, "metadata", "uid");
        const struct seen_pod *known = seen_pods_find(&watch->seen, uid);
        struct seen_pod *seen =
                known && !known->learned_ns ? NULL : seen_pods_take(&watch->seen, uid);

        if (!seen)
                return; /* the watch knows better */
        seen->learned_ns = clock_now_ns();
        if (pod_shares_apply(&watch->options, seen, pod) < 0)
                again_later(watch);
        watch->has_unconfirmed = true;
        tidy_soon(watch);
}

struct unconfirmed {
        struct pod_watch *watch;
        unsigned left;
};

static void unconfirmed_check(void *owner, struct hash_link *link)
{
        struct unconfirmed *unconfirmed = owner;
        const struct seen_pod *seen = container_of(link, struct seen_pod, link);
        char uid[sizeof seen->uid];

        if (!seen->learned_ns)
                return;
        if (clock_now_ns() - seen->learned_ns < UNCONFIRMED_S * NS_PER_S) {
                unconfirmed->left++;
                return;
        }
        memcpy(uid, seen->uid, sizeof uid);
        pod_end(unconfirmed->watch, uid);
}

static void unconfirmed_end(struct pod_watch *watch)
{
        struct unconfirmed unconfirmed = { .watch = watch };

        hash_each(&watch->seen.pods, unconfirmed_check, &unconfirmed);
        watch->has_unconfirmed = unconfirmed.left > 0;
}

static void mark_unseen(void *owner, struct held_share *held)
{
        struct pod_watch *watch = owner;

        if (!seen_pods_find(&watch->seen, held->pod_uid))
                held->is_going = watch->has_going = true;
}

/* The watch is in sync: a share of any other pod is of one that went meanwhile. */
static void on_synced(void *owner)
{
        struct pod_watch *watch = owner;

        if (watch->has_unknown)
                return; /* a share may be of that pod */
        if (!watch->again.is_set)
                watch->again_ms = 0;
        share_book_each(watch->options.shares, mark_unseen, watch);
        watch->options.fit->is_synced = true;
        pod_shares_settle(&watch->options);
        tidy_soon(watch);
}

static void on_trouble(void *owner, const struct err *e)
{
        struct pod_watch *watch = owner;

        if (!watch->is_troubled)
                log_warn("cannot watch the pods, known shares stay: %s", e->text);
        watch->is_troubled = true;
}

static void on_bad(void *owner, const struct err *e)
{
        struct pod_watch *watch = owner;

        log_limit_warn(&watch->unread_log, clock_now_ns(), "%s", e->text);
}

struct sweep {
        struct pod_watch *watch;
        struct pod_processes *processes;
        unsigned left;
};

static void sweep_one(void *owner, struct held_share *held)
{
        struct sweep *sweep = owner;

        if (!held->is_going)
                return;
        if (pod_processes_have(sweep->processes, held->pod_uid)) {
                sweep->left++;
                return;
        }
        log_info("share of container '%s' of pod %s/%s is gone", held->container,
                 held->pod_namespace, held->pod);
        share_book_remove(sweep->watch->options.shares, held);
}

static void sweep(struct pod_watch *watch)
{
        struct sweep sweep = { .watch = watch, .processes = pod_processes_read() };

        if (sweep.processes)
                share_book_each(watch->options.shares, sweep_one, &sweep);
        watch->has_going = sweep.left || !sweep.processes;
        pod_processes_free(sweep.processes);
}

/* What pods leave behind: shares of those that are over, pages that were read, and the memory
 * that their descriptions took. */
static void on_tidy(struct timer *timer)
{
        struct pod_watch *watch = container_of(timer, struct pod_watch, tidy);

        if (watch->has_unconfirmed)
                unconfirmed_end(watch);
        if (watch->has_going)
                sweep(watch);
        if (watch->has_going || watch->has_unconfirmed)
                tidy_soon(watch);
        share_book_trim(watch->options.shares);
        malloc_trim(0);
}

int pod_watch_explain(const struct pod_watch *watch, const char *pod_uid, const char *container,
                      struct err *e)
{
        const struct seen_pod *seen = seen_pods_find(&watch->seen, pod_uid);
        const char *why = seen ? seen_pod_refusal(seen, container) : NULL;

        /* Of an unconfirmed pod, a part is known; and of one that was taken in without memory. */
        if (!seen || ((seen->learned_ns || seen->is_partial) && !why))
                return err_set(e, -EAGAIN, "pod %.40s has not been seen on this node yet", pod_uid);
        return why ? err_set(e, -EINVAL, "%s", why)
                   : err_set(e, -ENOENT, "container '%.60s' has no share", container);
}

int pod_watch_new(const struct pod_watch_options *options, struct pod_watch **ret_watch)
{
        struct pod_watch *watch = calloc(1, sizeof *watch);
        struct kube_watch_options pods = { .path = "/api/v1/pods",
                                           .on_change = on_change,
                                           .on_synced = on_synced,
                                           .on_trouble = on_trouble,
                                           .on_bad = on_bad,
                                           .owner = watch };
        int r = -ENOMEM;

        if (!watch)
                return -ENOMEM;
        watch->options = *options;
        watch->options.refusal_log = &watch->refusal_log;
        watch->loop = kube_client_loop(options->client);
        watch->tidy.on_due = on_tidy;
        watch->again.on_due = on_again;
        if (asprintf(&watch->query, "fieldSelector=spec.nodeName%%3D%s", options->node_name) < 0)
                watch->query = NULL;
        pods.query = watch->query;
        options->fit->pods = &watch->seen;
        if (watch->query)
                r = kube_watch_new(options->client, &pods, &watch->watch);
        if (r < 0)
                pod_watch_free(watch);
        else
                *ret_watch = watch;
        return r;
}

struct kube_watch_state pod_watch_state(const struct pod_watch *watch)
{
        return kube_watch_state(watch->watch);
}

void pod_watch_free(struct pod_watch *watch)
{
        if (!watch)
                return;
        watch->options.fit->pods = NULL;
        kube_watch_free(watch->watch);
        loop_timer_clear(watch->loop, &watch->tidy);
        loop_timer_clear(watch->loop, &watch->again);
        seen_pods_done(&watch->seen);
        free(watch->query);
        free(watch);
}
