/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster as the API server tells it. */
#include "state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assumption.h"
#include "clock.h"
#include "cluster_nomination.h"
#include "json_read.h"
#include "kube_watch.h"
#include "list.h"
#include "log.h"
#include "log_limit.h"
#include "node_read.h"
#include "pod_allocation.h"
#include "str.h"

#define FREED_ANNOTATION "vgpu.io/capacity-freed"

/* How long after a refusal freed capacity is told of, and how long others' news are waited for before. */
enum { REFUSAL_MS = 3000, TOUCH_MS = 20, RETOUCH_MS = 1000 };

/* A pod that is not placed yet. */
struct waiting {
        struct hash_link link;
        struct request_class *class;
        char uid[64];
};

struct state {
        struct cluster cluster;
        struct request_cache cache;
        struct hash waiting;
        struct kube_client *client;
        struct kube_watch *nodes, *pods;
        struct assumptions *assumptions;
        bool with_gpu, has_nodes, has_pods, is_active;
        uint64_t refused_ns; /* when a pod found no node, last; 0: never */
        struct timer touch;
        struct kube_call *touching;
        bool is_touch_due;    /* when that one is done */
        char freed_node[256]; /* the node that is touched next */
        void (*on_waiting)(void *owner, const struct pod_ref *pod_ref,
                           const struct gpu_request *gpu_request);
        void *owner;
        void (*on_placed)(void *owner, const char *uid, const json_t *pod);
        void *placed_owner;
        struct log_limit unread_log, nodes_log, pods_log; /* of objects that others make */
};

static void on_touched(void *owner, const struct kube_answer *answer)
{
        struct state *state = owner;

        state->touching = NULL;
        if (answer->status != 200 && answer->status != 404) {
                log_warn("cannot annotate node %s: %s", state->freed_node, answer->message);
                state->is_touch_due = true; /* or pods would wait for minutes */
        }
        if (state->is_touch_due)
                loop_timer_set(kube_client_loop(state->client), &state->touch,
                               (answer->status == 200 ? TOUCH_MS : RETOUCH_MS) * NS_PER_MS);
        state->is_touch_due = false;
}

/* Another one each time, also after a restart: what does not change the object tells nobody. */
static uint64_t touch_number(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void on_touch(struct timer *timer)
{
        struct state *state = container_of(timer, struct state, touch);
        char path[512], text[24];
        struct kube_request request = { .method = "PATCH",
                                        .path = path,
                                        .content_type = "application/merge-patch+json" };

        if (state->touching) {
                state->is_touch_due = true;
                return;
        }
        snprintf(path, sizeof path, "/api/v1/nodes/%s", state->freed_node);
        snprintf(text, sizeof text, "%" PRIu64, touch_number());
        autojson json_t *body =
                json_pack("{s:{s:{s:s}}}", "metadata", "annotations", FREED_ANNOTATION, text);

        request.body = body;
        if (!body ||
            kube_client_call(state->client, &request, on_touched, state, &state->touching) < 0)
                loop_timer_set(kube_client_loop(state->client), timer, RETOUCH_MS * NS_PER_MS);
}

void state_ask_again(struct state *state, const char *node)
{
        if (!*node || !state->is_active)
                return;
        state->refused_ns = 0;
        str_copy(state->freed_node, sizeof state->freed_node, node);
        loop_timer_set(kube_client_loop(state->client), &state->touch, TOUCH_MS * NS_PER_MS);
}

/* A pod that preempts was refused long before its victims have gone. */
static void capacity_freed(struct state *state, const struct cluster_node *node)
{
        if (node->nominations ||
            (state->refused_ns && clock_now_ns() - state->refused_ns <= REFUSAL_MS * NS_PER_MS))
                state_ask_again(state, node->name);
}

/* What was nominated for a pod that is gone is free for others. */
static void nomination_drop(struct state *state, const char *uid)
{
        const struct cluster_nomination *nomination = cluster_nomination_find(&state->cluster, uid);

        if (!nomination)
                return;
        state_ask_again(state, nomination->node->name);
        cluster_nomination_drop(&state->cluster, uid);
}

/* Pods wait that another was asked about: one that ended before it had told of free space, or evicted anybody.
 * What they were refused for may be no longer so, and nobody else makes kube-scheduler try them again soon. */
static void waiting_ask_again(struct state *state)
{
        if (state->waiting.count == 0 || !state_is_synced(state))
                return;
        for (size_t i = 0; i < state->cluster.nodes.count; i++) {
                if (state->cluster.numbered[i]->is_known) {
                        state_ask_again(state, state->cluster.numbered[i]->name);
                        break;
                }
        }
        state->refused_ns = clock_now_ns();
}

void state_set_active(struct state *state, bool is_active)
{
        const bool begins = is_active && !state->is_active;

        state->is_active = is_active;
        if (begins)
                waiting_ask_again(state);
}

void state_note_refusal(struct state *state)
{
        state->refused_ns = clock_now_ns();
}

static void pod_release(struct state *state, const char *uid)
{
        const struct cluster_pod *pod = cluster_pod_find(&state->cluster, uid);

        if (!pod)
                return;
        capacity_freed(state, pod->node);
        cluster_pod_release(&state->cluster, uid);
}

static void on_node(void *owner, enum kube_change change, const struct kube_name *name,
                    const json_t *object)
{
        struct state *state = owner;
        const struct cluster_node *node = cluster_node_find(&state->cluster, name->name);
        const uint64_t said = node ? node->said : 0;
        struct err e = { 0 };
        const int r =
                node_read(&state->cluster, name->name, change == KUBE_DELETED ? NULL : object, &e);

        if (r == -ENOMEM)
                kube_watch_repeat(state->nodes);
        if (r < 0)
                log_limit_warn(&state->nodes_log, clock_now_ns(), "node %s: %s", name->name,
                               e.text);
        node = cluster_node_find(&state->cluster, name->name);
        /* kube-scheduler asks again when it sees this, perhaps before we did. */
        if (node && !node->is_away && node->said != said)
                capacity_freed(state, node);
}

static void waiting_forget(struct state *state, const char *uid)
{
        struct hash_link *link = hash_find(&state->waiting, uid);
        struct waiting *waiting = link ? container_of(link, struct waiting, link) : NULL;

        if (!waiting)
                return;
        hash_remove(&state->waiting, link);
        request_class_release(&state->cache, waiting->class);
        free(waiting);
}

/* A pod that ended holds nothing, though its object stays. */
static bool pod_has_ended(const json_t *pod)
{
        const char *phase = json_read_text_in(pod, "status", "phase");

        return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

/* It is not so: what it would have held is for others, who may have been refused long ago. */
static void assumed_release(struct state *state, const char *uid)
{
        const struct cluster_pod *pod = cluster_pod_find(&state->cluster, uid);

        if (!pod || !pod->is_assumed)
                return;
        log_info("an allocation on node %s was never written: it is released", pod->node->name);
        state_ask_again(state, pod->node->name);
        cluster_pod_release(&state->cluster, uid);
}

void state_repeat_pods(struct state *state)
{
        if (state->has_pods)
                log_error("out of memory: not all pods are accounted for; they are listed again");
        state->has_pods = false;
        if (state->pods)
                kube_watch_repeat(state->pods);
}

static void pod_hold(struct state *state, const json_t *pod, const struct kube_name *name,
                     const struct gpu_request *gpu_request)
{
        struct allocation allocation;
        struct err e = { 0 };
        const int r = pod_allocation_read(pod, &allocation, &e);

        if (r == -ENOENT) {
                assumed_release(state, name->uid);
                return;
        }
        if (r == -ENOMEM)
                return state_repeat_pods(state);
        if (r < 0) {
                log_limit_warn(&state->pods_log, clock_now_ns(), "pod %s/%s: %s",
                               name->namespace_name, name->name, e.text);
                return;
        }
        if (cluster_pod_hold(&state->cluster, name->uid, &allocation, gpu_request, false) < 0)
                state_repeat_pods(state);
        allocation_done(&allocation);
}

static void on_pod(void *owner, enum kube_change change, const struct kube_name *name,
                   const json_t *object)
{
        struct state *state = owner;
        const bool is_gone = change == KUBE_DELETED || pod_has_ended(object);
        struct gpu_request gpu_request;
        struct request_class *class;
        struct pod_ref pod_ref;

        if (is_gone || *json_read_text_in(object, "spec", "nodeName"))
                assumptions_forget(state->assumptions, name->uid);
        if (is_gone) {
                pod_release(state, name->uid);
                nomination_drop(state, name->uid);
                waiting_forget(state, name->uid);
                if (state->on_placed)
                        state->on_placed(state->placed_owner, name->uid, NULL);
                return;
        }
        if (gpu_request_read(object, state->with_gpu, &gpu_request, NULL) < 0 ||
            gpu_request.pod.need_count == 0)
                return;
        pod_ref_read(object, &pod_ref);
        if (*json_read_text_in(object, "spec", "nodeName") == '\0') {
                class = request_cache_find(&state->cache, &gpu_request);
                if (class)
                        state_note_request(state, name->uid, class);
                if (state->on_waiting)
                        state->on_waiting(state->owner, &pod_ref, &gpu_request);
                return;
        }
        waiting_forget(state, name->uid);
        pod_hold(state, object, name, &gpu_request);
        cluster_pod_describe(&state->cluster, &pod_ref);
        cluster_nomination_drop(&state->cluster, name->uid);
        if (state->on_placed)
                state->on_placed(state->placed_owner, name->uid, object);
}

void state_note_pod(struct state *state, const json_t *pod)
{
        struct pod_ref pod_ref;

        pod_ref_read(pod, &pod_ref);
        on_pod(state, KUBE_MODIFIED,
               &(struct kube_name){ pod_ref.namespace_name, pod_ref.name, pod_ref.uid }, pod);
}

static void on_assumed_seen(void *owner, const char *uid, const json_t *pod)
{
        const bool is_it = strcmp(json_read_text_in(pod, "metadata", "uid"), uid) == 0;

        if (is_it && *json_read_text_in(pod, "spec", "nodeName"))
                state_note_pod(owner, pod);
        else
                assumed_release(owner, uid);
}

void state_await(struct state *state, const char *uid, const char *namespace_name, const char *pod)
{
        const struct cluster_pod *held = cluster_pod_find(&state->cluster, uid);

        if (held && held->is_assumed &&
            assumptions_note(state->assumptions, uid, namespace_name, pod) < 0)
                log_error("out of memory: pod %s/%s is not waited for", namespace_name, pod);
}

void state_await_not(struct state *state, const char *uid)
{
        assumptions_forget(state->assumptions, uid);
}

static void on_pods_synced(void *owner)
{
        struct state *state = owner;

        state->has_pods = true;
        waiting_ask_again(state);
}

static void on_trouble(void *owner, const struct err *e)
{
        (void)owner;
        log_warn("%s", e->text);
}

static void on_bad(void *owner, const struct err *e)
{
        struct state *state = owner;

        log_limit_warn(&state->unread_log, clock_now_ns(), "%s", e->text);
}

/* Pods are told after the nodes: a pod's nominated node is known by then. */
static void on_nodes_synced(void *owner)
{
        struct state *state = owner;
        const struct kube_watch_options pods = { .path = "/api/v1/pods",
                                                 .on_change = on_pod,
                                                 .without = node_read_ignored,
                                                 .on_synced = on_pods_synced,
                                                 .on_trouble = on_trouble,
                                                 .on_bad = on_bad,
                                                 .owner = state };

        state->has_nodes = true;
        if (!state->pods && kube_watch_new(state->client, &pods, &state->pods) < 0)
                kube_watch_repeat(state->nodes); /* and then once more */
}

int state_new(struct kube_client *client, bool with_gpu, uint64_t patience_ns,
              struct state **ret_state)
{
        struct state *state = calloc(1, sizeof *state);
        const struct kube_watch_options nodes = { .path = "/api/v1/nodes",
                                                  .on_change = on_node,
                                                  .without = node_read_ignored,
                                                  .on_synced = on_nodes_synced,
                                                  .on_trouble = on_trouble,
                                                  .on_bad = on_bad,
                                                  .owner = state };

        if (!state)
                return -ENOMEM;
        request_cache_init(&state->cache);
        state->client = client;
        state->with_gpu = with_gpu;
        state->is_active = true;
        state->touch.on_due = on_touch;
        if (assumptions_new(client, patience_ns, on_assumed_seen, state, &state->assumptions) < 0 ||
            kube_watch_new(client, &nodes, &state->nodes) < 0) {
                state_free(state);
                return -ENOMEM;
        }
        *ret_state = state;
        return 0;
}

void state_free(struct state *state)
{
        struct hash_link *link;

        if (!state)
                return;
        kube_watch_free(state->nodes);
        kube_watch_free(state->pods);
        assumptions_free(state->assumptions);
        loop_timer_clear(kube_client_loop(state->client), &state->touch);
        if (state->touching)
                kube_call_cancel(state->touching);
        while ((link = hash_any(&state->waiting)))
                waiting_forget(state, link->key);
        hash_done(&state->waiting);
        request_cache_done(&state->cache);
        cluster_done(&state->cluster);
        free(state);
}

void state_on_waiting(struct state *state,
                      void (*on_waiting)(void *owner, const struct pod_ref *pod_ref,
                                         const struct gpu_request *gpu_request),
                      void *owner)
{
        state->on_waiting = on_waiting;
        state->owner = owner;
}

void state_on_placed(struct state *state,
                     void (*on_placed)(void *owner, const char *uid, const json_t *pod),
                     void *owner)
{
        state->on_placed = on_placed;
        state->placed_owner = owner;
}

uint64_t state_bad_objects(const struct state *state)
{
        return (state->nodes ? kube_watch_state(state->nodes).bad : 0) +
               (state->pods ? kube_watch_state(state->pods).bad : 0);
}

bool state_is_synced(const struct state *state)
{
        return state->has_nodes && state->has_pods;
}

struct cluster *state_cluster(struct state *state)
{
        return &state->cluster;
}

struct request_cache *state_request_cache(struct state *state)
{
        return &state->cache;
}

const struct gpu_request *state_request(const struct state *state, const char *pod_uid)
{
        const struct hash_link *link = hash_find(&state->waiting, pod_uid);

        return link ? &container_of(link, struct waiting, link)->class->gpu_request : NULL;
}

void state_note_request(struct state *state, const char *pod_uid, struct request_class *class)
{
        struct hash_link *link = hash_find(&state->waiting, pod_uid);
        struct waiting *waiting = link ? container_of(link, struct waiting, link) : NULL;

        if (!waiting) {
                waiting = calloc(1, sizeof *waiting);
                if (!waiting)
                        return;
                str_copy(waiting->uid, sizeof waiting->uid, pod_uid);
                if (hash_add(&state->waiting, &waiting->link, waiting->uid) < 0) {
                        free(waiting);
                        return;
                }
        }
        request_class_hold(class);
        if (waiting->class)
                request_class_release(&state->cache, waiting->class);
        waiting->class = class;
}
