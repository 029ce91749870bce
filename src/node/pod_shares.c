/* What a pod says becomes its containers' shares, or why they have none. */
#include "pod_shares.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "pod.h"
#include "pod_allocation.h"
#include "pod_notes.h"
#include "pod_request.h"

static const char *text_get(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

/* A share that is there changes only when what the pod says does: what `vgpu set` has changed since is not
 * undone by a pod's heartbeat. */
static int share_put(const struct pod_watch_options *options, const struct share_copy *content,
                     const struct gpu_card *cards, struct err *e)
{
        struct share_book *shares = options->shares;
        struct held_share *held = share_book_find(shares, content->pod_uid, content->container);
        int r;

        if (held)
                held->is_going = false;
        if (held && share_current(&held->share)->origin == content->origin)
                return 0;
        if (held) {
                r = share_room_fits(options->room, held, content, e);
                if (r == 0)
                        r = share_book_change(shares, held, content, e);
                if (r == 0)
                        pod_notes_allocation(options->client, held);
        } else {
                r = options->is_strict ? share_room_admits(options->room, content, e) : 0;
                if (r == 0)
                        r = share_book_make(shares, content, cards, &held, e);
        }
        if (r == 0)
                log_info("share of container '%s' of pod %s/%s: %u GPUs, first with %u MiB",
                         held->container, held->pod_namespace, held->pod, content->device_count,
                         (unsigned)(content->devices[0].limit_bytes >> 20));
        return r;
}

static void refuse(const struct pod_watch_options *options, struct seen_pod *seen,
                   const json_t *pod, const char *container, const char *why)
{
        const json_t *metadata = json_object_get(pod, "metadata");
        struct held_share *held = share_book_find(options->shares, seen->uid, container);

        if (!seen_pod_refuse(seen, container, why))
                return;
        log_warn("pod %s/%s: %s%s", text_get(metadata, "namespace"), text_get(metadata, "name"),
                 why, held ? "; its share stays" : "");
        if (held)
                pod_notes_event(options->client, held, options->node_name, "ResizeRefused", why);
}

/* A new share begins with what the scheduler decided, which has its room; what annotations ask for beyond
 * is then a change like any other: it must find room, and the scheduler is told. */
static int share_begin(const struct pod_watch_options *options, const json_t *pod,
                       const json_t *container, const struct allocation *allocation, struct err *e)
{
        struct share_terms terms = options->terms;
        struct gpu_card cards[SHARE_DEVICES];
        struct share_copy content;

        terms.is_as_given = true;
        const int r = share_content_make(pod, container, allocation, options->gpus, &terms,
                                         &content, cards, e);
        return r > 0 ? share_put(options, &content, cards, e) : r;
}

static void container_apply(const struct pod_watch_options *options, struct seen_pod *seen,
                            const json_t *pod, const json_t *container,
                            const struct allocation *allocation)
{
        const char *name = pod_request_name(container);
        struct gpu_card cards[SHARE_DEVICES];
        struct share_copy content;
        struct err e = { 0 };
        int r = share_content_make(pod, container, allocation, options->gpus, &options->terms,
                                   &content, cards, &e);

        if (r > 0 && !share_book_find(options->shares, seen->uid, name))
                r = share_begin(options, pod, container, allocation, &e) < 0 ? -EINVAL : r;
        if (r > 0)
                r = share_put(options, &content, cards, &e);
        if (r < 0)
                refuse(options, seen, pod, name, e.text);
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

void pod_shares_apply(const struct pod_watch_options *options, struct seen_pod *seen,
                      const json_t *pod)
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
                        container_apply(options, seen, pod, walk.container, &allocation);
                else if (asks_for_gpu(walk.container))
                        refuse(options, seen, pod, pod_request_name(walk.container), e.text);
        }
        if (r == 0)
                allocation_done(&allocation);
}
