/* Pods come and go, and their shares with them. */
#include "pod_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "kube_watch.h"
#include "log.h"
#include "pod.h"
#include "pod_allocation.h"
#include "pod_process.h"
#include "pod_request.h"
#include "seen_pod.h"

/* How often it is looked whether the processes of pods that are over have gone. */
enum { SWEEP_MS = 2000 };
/* How long the watch may take to tell of a pod that was heard of. */
enum { HEARSAY_S = 120 };

struct pod_watch {
        struct pod_watch_options options;
        struct loop *loop;
        struct kube_watch *watch;
        char *query;
        struct seen_pods seen;
        struct timer sweep;
        bool is_troubled; /* said so already */
};

static const char *text_get(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

/* A share that is there changes only when what the pod says does: what `vgpu set` has changed since is not
 * undone by a pod's heartbeat. */
static int share_put(struct pod_watch *watch, const struct share_copy *content,
                     const struct gpu_card *cards, struct err *e)
{
        struct share_book *shares = watch->options.shares;
        struct held_share *held = share_book_find(shares, content->pod_uid, content->container);
        int r;

        if (held)
                held->is_going = false;
        if (held && share_current(&held->share)->origin == content->origin)
                return 0;
        if (held) {
                r = share_room_fits(watch->options.room, held, content, e);
                if (r == 0)
                        r = share_book_change(shares, held, content, e);
        } else {
                r = watch->options.is_strict ? share_room_admits(watch->options.room, content, e)
                                             : 0;
                if (r == 0)
                        r = share_book_make(shares, content, cards, &held, e);
        }
        if (r == 0)
                log_info("share of container '%s' of pod %s/%s: %u GPUs, first with %u MiB",
                         held->container, held->pod_namespace, held->pod, content->device_count,
                         (unsigned)(content->devices[0].limit_bytes >> 20));
        return r;
}

static void refuse(struct pod_watch *watch, struct seen_pod *seen, const json_t *pod,
                   const char *container, const char *why)
{
        const json_t *metadata = json_object_get(pod, "metadata");
        const bool has_share = share_book_find(watch->options.shares, seen->uid, container);

        if (seen_pod_refuse(seen, container, why))
                log_warn("pod %s/%s: %s%s", text_get(metadata, "namespace"),
                         text_get(metadata, "name"), why, has_share ? "; its share stays" : "");
}

static void container_apply(struct pod_watch *watch, struct seen_pod *seen, const json_t *pod,
                            const json_t *container, const struct allocation *allocation)
{
        const char *name = pod_request_name(container);
        struct gpu_card cards[SHARE_DEVICES];
        struct share_copy content;
        struct err e = { 0 };
        int r = share_content_make(pod, container, allocation, watch->options.gpus,
                                   &watch->options.terms, &content, cards, &e);

        if (r > 0)
                r = share_put(watch, &content, cards, &e);
        if (r < 0)
                refuse(watch, seen, pod, name, e.text);
        else
                seen_pod_clear(seen, name);
}

/* Does it ask for a part of a card? MIG instances are kubelet's to choose. */
static bool asks_for_gpu(const json_t *container)
{
        struct request request;

        return pod_request_read(container, false, &request, NULL) == 0 &&
               (request_has(&request, RESOURCE_COUNT) || request_has(&request, RESOURCE_MEMORY) ||
                request_has(&request, RESOURCE_MEMORY_PERCENT) ||
                request_has(&request, RESOURCE_CORES));
}

static void pod_apply(struct pod_watch *watch, struct seen_pod *seen, const json_t *pod)
{
        struct pod_walk walk = { .spec = json_object_get(pod, "spec"), .path = "" };
        struct allocation allocation;
        struct err e = { 0 };
        const int r = pod_allocation_read(pod, &allocation, &e);

        if (r == -ENOENT)
                err_set(&e, -ENOENT,
                        "no card was chosen for it: it was placed by '%.60s', not by "
                        "vgpu-scheduler",
                        text_get(walk.spec, "schedulerName"));
        while (pod_walk_next(&walk)) {
                if (r == 0)
                        container_apply(watch, seen, pod, walk.container, &allocation);
                else if (asks_for_gpu(walk.container))
                        refuse(watch, seen, pod, pod_request_name(walk.container), e.text);
        }
        if (r == 0)
                allocation_done(&allocation);
}

struct going {
        const char *uid;
        bool has_any;
};

static void mark_going(void *owner, struct held_share *held)
{
        struct going *going = owner;

        if (strcmp(held->pod_uid, going->uid) == 0)
                held->is_going = going->has_any = true;
}

/* Its containers may still be ending: a share goes with the last process of the pod. */
static void pod_end(struct pod_watch *watch, const char *uid)
{
        struct going going = { .uid = uid };

        seen_pods_forget(&watch->seen, uid);
        share_book_each(watch->options.shares, mark_going, &going);
        if (going.has_any && !watch->sweep.place)
                loop_timer_set(watch->loop, &watch->sweep, SWEEP_MS * NS_PER_MS);
}

static bool is_over(const json_t *pod)
{
        const char *phase = text_get(json_object_get(pod, "status"), "phase");

        return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static void on_change(void *owner, enum kube_change change, const struct kube_name *name,
                      const json_t *pod)
{
        struct pod_watch *watch = owner;
        struct seen_pod *seen;

        watch->is_troubled = false;
        if (change == KUBE_DELETED || is_over(pod))
                return pod_end(watch, name->uid);
        seen = seen_pods_take(&watch->seen, name->uid);
        if (!seen)
                return log_error("out of memory: pod %s/%s is not known", name->namespace_name,
                                 name->name);
        seen->heard_ns = 0;
        pod_apply(watch, seen, pod);
}

void pod_watch_hear(struct pod_watch *watch, const json_t *pod)
{
        const char *uid = text_get(json_object_get(pod, "metadata"), "uid");
        const bool is_known = seen_pods_find(&watch->seen, uid);
        struct seen_pod *seen = is_known ? NULL : seen_pods_take(&watch->seen, uid);

        if (!seen)
                return;
        seen->heard_ns = clock_now_ns();
        pod_apply(watch, seen, pod);
        if (!watch->sweep.place)
                loop_timer_set(watch->loop, &watch->sweep, SWEEP_MS * NS_PER_MS);
}

struct hearsay {
        struct pod_watch *watch;
        unsigned left;
};

static void hearsay_look(void *owner, struct hash_link *link)
{
        struct hearsay *hearsay = owner;
        const struct seen_pod *seen = container_of(link, struct seen_pod, link);
        char uid[sizeof seen->uid];

        if (!seen->heard_ns)
                return;
        if (clock_now_ns() - seen->heard_ns < HEARSAY_S * NS_PER_S) {
                hearsay->left++;
                return;
        }
        memcpy(uid, seen->uid, sizeof uid);
        pod_end(hearsay->watch, uid);
}

static void mark_unseen(void *owner, struct held_share *held)
{
        struct pod_watch *watch = owner;

        if (!seen_pods_find(&watch->seen, held->pod_uid))
                held->is_going = true;
}

/* All pods have been told: a share of any other is of a pod that went while nobody looked. */
static void on_synced(void *owner)
{
        struct pod_watch *watch = owner;

        share_book_each(watch->options.shares, mark_unseen, watch);
        loop_timer_set(watch->loop, &watch->sweep, SWEEP_MS * NS_PER_MS);
        share_book_rest(watch->options.shares);
}

static void on_trouble(void *owner, const struct err *e)
{
        struct pod_watch *watch = owner;

        if (!watch->is_troubled)
                log_warn("the pods are out of sight, known shares stay: %s", e->text);
        watch->is_troubled = true;
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

static void on_sweep(struct timer *timer)
{
        struct pod_watch *watch = container_of(timer, struct pod_watch, sweep);
        struct sweep sweep = { .watch = watch, .processes = pod_processes_read() };
        struct hearsay hearsay = { .watch = watch };

        hash_each(&watch->seen.pods, hearsay_look, &hearsay);
        if (sweep.processes)
                share_book_each(watch->options.shares, sweep_one, &sweep);
        pod_processes_free(sweep.processes);
        share_book_rest(watch->options.shares);
        if (sweep.left || !sweep.processes || hearsay.left)
                loop_timer_set(watch->loop, &watch->sweep, SWEEP_MS * NS_PER_MS);
}

int pod_watch_explain(const struct pod_watch *watch, const char *pod_uid, const char *container,
                      struct err *e)
{
        const struct seen_pod *seen = seen_pods_find(&watch->seen, pod_uid);
        const char *why = seen ? seen_pod_refusal(seen, container) : NULL;

        if (!seen)
                return err_set(e, -EAGAIN, "pod %.40s has not been seen on this node yet", pod_uid);
        return why ? err_set(e, -EINVAL, "%s", why)
                   : err_set(e, -ENOENT, "container '%.60s' was given no share", container);
}

int pod_watch_new(const struct pod_watch_options *options, struct pod_watch **ret_watch)
{
        struct pod_watch *watch = calloc(1, sizeof *watch);
        struct kube_watch_options pods = { .path = "/api/v1/pods",
                                           .on_change = on_change,
                                           .on_synced = on_synced,
                                           .on_trouble = on_trouble,
                                           .owner = watch };
        int r = -ENOMEM;

        if (!watch)
                return -ENOMEM;
        watch->options = *options;
        watch->loop = kube_client_loop(options->client);
        watch->sweep.on_due = on_sweep;
        if (asprintf(&watch->query, "fieldSelector=spec.nodeName%%3D%s", options->node_name) < 0)
                watch->query = NULL;
        pods.query = watch->query;
        if (watch->query)
                r = kube_watch_new(options->client, &pods, &watch->watch);
        if (r < 0)
                pod_watch_free(watch);
        else
                *ret_watch = watch;
        return r;
}

void pod_watch_free(struct pod_watch *watch)
{
        if (!watch)
                return;
        kube_watch_free(watch->watch);
        loop_timer_clear(watch->loop, &watch->sweep);
        seen_pods_done(&watch->seen);
        free(watch->query);
        free(watch);
}
