/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod says becomes its containers' shares, or why they have none. */
#include "pod_shares.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "file.h"
#include "json_read.h"
#include "log.h"
#include "pod.h"
#include "pod_allocation.h"
#include "pod_notes.h"
#include "pod_request.h"
#include "quantity.h"
#include "share_growth.h"
#include "str.h"

/* The scheduler learns that the pod has less, and its owner why. */
static void on_cut(void *owner, const struct share_growth_cut *cut)
{
        const struct pod_watch_options *options = owner;
        struct held_share *held = cut->held;
        char amount[QUANTITY_TEXT_BYTES], sentence[256];

        if (cut->memory_bytes)
                quantity_format_bytes(cut->memory_bytes, amount);
        else
                snprintf(amount, sizeof amount, "%u %%", cut->cores_percent);
        snprintf(sentence, sizeof sentence,
                 "container '%.63s': its growth by %s of GPU %u was revoked for another pod",
                 held->container, amount, cut->gpu->index);
        log_warn("pod %s/%s: %s", held->pod_namespace, held->pod, sentence);
        pod_notes_lower(options->client, held, NULL);
        pod_notes_event(options->client, held, options->node_name, KUBE_REASON_GROWTH_REVOKED,
                        sentence);
}

void pod_shares_settle(const struct pod_watch_options *options)
{
        share_growth_yield(options->fit, NULL, on_cut, (void *)options);
}

/* Allocations revoke growth. An unconfirmed pod is not checked for fit: the watch, which
 * knows who has left it, is behind. */
static int share_make(const struct pod_watch_options *options, const struct seen_pod *seen,
                      const struct share_copy *content, const struct gpu_device *gpu_devices,
                      struct held_share **ret_held, struct err *e)
{
        int r = 0;

        share_growth_yield(options->fit, content, on_cut, (void *)options);
        if (!seen->learned_ns)
                r = share_fit_admits(options->fit, content, e);
        if (r == 0)
                r = share_book_make(options->shares, content, gpu_devices, ret_held, e);
        else
                return r;
        /* The disk is full, and not the GPU: that passes. */
        return r == -ENOSPC || r == -EDQUOT ? -EAGAIN : r;
}

/* A share that is there changes only when what the pod says does: what `vgpu set` has changed since is not
 * undone by a pod's heartbeat. */
static int share_put(const struct pod_watch_options *options, const struct seen_pod *seen,
                     const json_t *pod, const struct share_copy *content,
                     const struct gpu_device *gpu_devices, struct err *e)
{
        struct share_book *shares = options->shares;
        struct held_share *held = share_book_find(shares, content->pod_uid, content->container);
        int r;

        if (held)
                held->is_going = false;
        if (held && share_current(&held->share)->origin == content->origin)
                return 0;
        if (held) {
                r = share_fit_allows(options->fit, held, content, e);
                if (r == 0)
                        r = share_book_change(shares, held, content, e);
                if (r == 0)
                        pod_notes_allocation(options->client, held, json_read_annotations(pod));
        } else {
                r = share_make(options, seen, content, gpu_devices, &held, e);
        }
        if (r == 0)
                log_info("share of container '%s' of pod %s/%s: %u GPUs, first with %u MiB",
                         held->container, held->pod_namespace, held->pod, content->device_count,
                         (unsigned)(content->devices[0].limit_bytes >> 20));
        return r;
}

static void refuse(const struct pod_watch_options *options, struct seen_pod *seen,
                   const json_t *pod, const char *container, const struct err *e)
{
        const char *why = e->text;
        const json_t *metadata = json_object_get(pod, "metadata");
        struct held_share *held = share_book_find(options->shares, seen->uid, container);

        if (!seen_pod_refuse(seen, container, why))
                return;
        log_limit_warn(options->refusal_log, clock_now_ns(), "pod %s/%s: %s%s",
                       json_read_text(metadata, "namespace"), json_read_text(metadata, "name"), why,
                       held ? "; its share stays" : "");
        if (!held)
                return;
        if (e->code ==
            -ENOSPC) /* what it grew by was taken back, and the pod does not say so yet */
                pod_notes_lower(options->client, held, json_read_annotations(pod));
        pod_notes_event(options->client, held, options->node_name, KUBE_REASON_RESIZE_REFUSED, why);
}

/* Nobody grows into what was decided for a container that has no share: it may have one later. */
static void claim(struct seen_pod *seen, const struct pod_walk *walk, unsigned container_index,
                  const struct allocation *allocation)
{
        const char *name = pod_request_name(walk->container);

        seen_pod_unclaim(seen, name);
        for (size_t i = 0; i < allocation->parts.count; i++) {
                const struct allocation_part *part = vec_at(&allocation->parts, i);
                struct seen_claim row = { .limit_bytes = part->memory_mib << 20,
                                          .cores_percent = part->cores,
                                          .phase = walk->phase,
                                          .container_index = container_index };

                if (strcmp(part->container, name) != 0)
                        continue;
                str_copy(row.container, sizeof row.container, name);
                str_copy(row.uuid, sizeof row.uuid, part->uuid);
                seen_pod_claim(seen, &row);
        }
}

/* A new share begins with what the scheduler decided, which fits; what annotations ask for beyond
 * is then a change like any other: it must fit, and the scheduler is told. */
static int share_begin(const struct pod_watch_options *options, const struct seen_pod *seen,
                       const json_t *pod, const json_t *container,
                       const struct allocation *allocation, struct err *e)
{
        struct share_terms terms = options->terms;
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct share_copy content;

        terms.is_as_decided = true;
        const int r = share_content_make(pod, container, allocation, options->gpus, &terms,
                                         &content, gpu_devices, e);
        return r > 0 ? share_put(options, seen, pod, &content, gpu_devices, e) : r;
}

static int container_apply(const struct pod_watch_options *options, struct seen_pod *seen,
                           const json_t *pod, const json_t *container,
                           const struct allocation *allocation)
{
        const char *name = pod_request_name(container);
        struct gpu_device gpu_devices[SHARE_DEVICES];
        struct share_copy content;
        struct err e = { 0 };
        int r = share_content_make(pod, container, allocation, options->gpus, &options->terms,
                                   &content, gpu_devices, &e);

        if (r > 0 && !share_book_find(options->shares, seen->uid, name)) {
                const int begun = share_begin(options, seen, pod, container, allocation, &e);

                r = begun < 0 ? begun : r;
        }
        if (r > 0)
                r = share_put(options, seen, pod, &content, gpu_devices, &e);
        if (r < 0)
                refuse(options, seen, pod, name, &e);
        else
                seen_pod_clear(seen, name);
        return r;
}

/* Does it ask for a part of a GPU? MIG instances are kubelet's to choose. */
static bool asks_for_gpu(const json_t *container)
{
        struct request request;

        return pod_request_read(container, false, &request, NULL) == 0 &&
               (request_has(&request, RESOURCE_COUNT) || request_has(&request, RESOURCE_MEMORY) ||
                request_has(&request, RESOURCE_MEMORY_PERCENT) ||
                request_has(&request, RESOURCE_CORES));
}

int pod_shares_apply(const struct pod_watch_options *options, struct seen_pod *seen,
                     const json_t *pod)
{
        struct pod_walk walk = { .spec = json_object_get(pod, "spec"), .path = "" };
        struct allocation allocation;
        struct err e = { 0 };
        const int r = pod_allocation_read(pod, &allocation, &e);
        int passing = file_error_passes(r) ? r : 0;

        seen->is_partial = false;
        if (r == -ENOENT)
                err_set(&e, -ENOENT, "it has no allocation: '%.60s' placed it, not vgpu-scheduler",
                        json_read_text(walk.spec, "schedulerName"));
        for (unsigned container_index = 0; pod_walk_next(&walk); container_index++) {
                const int applied =
                        r < 0 ? 0
                              : container_apply(options, seen, pod, walk.container, &allocation);

                if (file_error_passes(applied))
                        passing = applied;
                if (r == 0 &&
                    !share_book_find(options->shares, seen->uid, pod_request_name(walk.container)))
                        claim(seen, &walk, container_index, &allocation);
                if (r < 0 && asks_for_gpu(walk.container))
                        refuse(options, seen, pod, pod_request_name(walk.container), &e);
        }
        if (r == 0)
                allocation_done(&allocation);
        return passing ? passing : seen->is_partial ? -ENOMEM : 0;
}
