/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations, events and evictions. */
#include "pod_notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocation.h"
#include "json_read.h"
#include "log.h"
#include "scope.h"

enum { PATH_BYTES = 512 };
#define MIB (UINT64_C(1) << 20)

/* A note on its way. */
struct note {
        char what[64], path[PATH_BYTES];
        char container[SHARE_TEXT];
        json_t *asked; /* annotations, as they were; NULL: not known */
        bool is_cut;
        struct share_copy copy;
        struct share_decided decided[SHARE_DEVICES]; /* if it is cut */
};

static void note_free(struct note *note)
{
        json_decref(note->asked);
        free(note);
}

static void on_done(void *owner, const struct kube_answer *answer)
{
        struct note *note = owner;

        if (answer->status < 200 || answer->status >= 300)
                log_warn("%s: %s", note->what, answer->message);
        note_free(note);
}

/* What was decided is raised to what the share has, and what the share no longer has stays set aside for it;
 * or it is cut to that, and not below what was decided at first. */
static bool part_change(struct allocation_part *part, const struct share_device *row,
                        const struct share_decided *decided)
{
        const bool is_cut = decided;
        const uint64_t limit = is_cut && decided->limit_bytes > row->limit_bytes
                                       ? decided->limit_bytes
                                       : row->limit_bytes;
        const unsigned cores = is_cut && decided->cores_percent > row->cores_percent
                                       ? decided->cores_percent
                                       : row->cores_percent;
        const uint64_t mib = limit / MIB;
        bool has_changed = false;

        if (limit != SHARE_UNLIMITED &&
            (is_cut ? mib < part->memory_mib : mib > part->memory_mib)) {
                part->memory_mib = mib;
                has_changed = true;
        }
        if (part->cores && cores && (is_cut ? cores < part->cores : cores > part->cores)) {
                part->cores = cores;
                has_changed = true;
        }
        return has_changed;
}

/* Whoever has asked for something else meanwhile is not overruled. */
static void annotation_follow(json_t *annotations, const char *key, const char *text,
                              const json_t *asked)
{
        json_t *now = json_object_get(annotations, key);

        if (now && (!asked || json_equal(now, json_object_get(asked, key))))
                json_object_set_new(annotations, key, json_string(text));
}

/* An annotation by which the pod was resized before says what the share has: by the decision it could grow. */
static void resize_follow(json_t *annotations, const struct share_device *row, const json_t *asked)
{
        char text[32];

        if (row->limit_bytes != SHARE_UNLIMITED) {
                snprintf(text, sizeof text, "%lluMi", (unsigned long long)(row->limit_bytes / MIB));
                annotation_follow(annotations, "vgpu.io/memory", text, asked);
        }
        if (row->cores_percent) {
                snprintf(text, sizeof text, "%u", row->cores_percent);
                annotation_follow(annotations, "vgpu.io/cores", text, asked);
        }
}

bool pod_notes_change(json_t *annotations, const char *container, const struct share_copy *copy,
                      const struct share_decided *decided, const json_t *asked)
{
        const char *text = json_read_text_or_null(annotations, ALLOCATION_ANNOTATION);
        struct allocation allocation;
        bool has_changed = false;

        if (!text || allocation_parse(text, &allocation, NULL) < 0)
                return false;
        for (size_t i = 0; i < allocation.parts.count; i++) {
                struct allocation_part *part = vec_at(&allocation.parts, i);
                const int device = strcmp(part->container, container) == 0
                                           ? share_find_device(copy, part->uuid)
                                           : -1;

                if (device < 0 ||
                    !part_change(part, &copy->devices[device], decided ? &decided[device] : NULL))
                        continue;
                has_changed = true;
                resize_follow(annotations, &copy->devices[device], asked);
        }
        autofree char *raised = has_changed ? allocation_format(&allocation) : NULL;
        allocation_done(&allocation);
        return raised &&
               json_object_set_new(annotations, ALLOCATION_ANNOTATION, json_string(raised)) == 0;
}

static bool pod_change(void *owner, json_t *pod)
{
        const struct note *note = owner;
        json_t *metadata = json_object_get(pod, "metadata");
        const char *uid = json_read_text_or_null(metadata, "uid");

        return uid && strcmp(uid, note->copy.pod_uid) == 0 &&
               pod_notes_change(json_object_get(metadata, "annotations"), note->container,
                                &note->copy, note->is_cut ? note->decided : NULL, note->asked);
}

static struct note *note_new(const struct held_share *held, const char *what, const char *format)
{
        struct note *note = calloc(1, sizeof *note);

        if (!note) {
                log_warn("%s: out of memory", what);
                return NULL;
        }
        snprintf(note->what, sizeof note->what, "%s", what);
        snprintf(note->path, sizeof note->path, "/api/v1/namespaces/%.63s/%s", held->pod_namespace,
                 format);
        snprintf(note->container, sizeof note->container, "%s", held->container);
        memcpy(&note->copy, share_current(&held->share), sizeof note->copy);
        return note;
}

static void note_update(struct kube_client *client, struct note *note)
{
        struct kube_update *update;

        if (kube_client_update(client, note->path, pod_change, on_done, note, &update) < 0)
                note_free(note);
}

static struct note *decision_note(const struct held_share *held, const json_t *asked,
                                  const char *what)
{
        char resource[PATH_BYTES / 2 + 16];

        snprintf(resource, sizeof resource, "pods/%.253s", held->pod);
        struct note *note = note_new(held, what, resource);
        if (note)
                note->asked = json_copy((json_t *)asked); /* it is read alone */
        return note;
}

void pod_notes_allocation(struct kube_client *client, const struct held_share *held,
                          const json_t *asked)
{
        struct note *note =
                decision_note(held, asked, "the scheduler is not told of a raised share");

        if (note)
                note_update(client, note);
}

void pod_notes_lower(struct kube_client *client, const struct held_share *held, const json_t *asked)
{
        struct note *note =
                held->decided
                        ? decision_note(held, asked, "the scheduler is not told of a cut share")
                        : NULL;

        if (!note)
                return;
        note->is_cut = true;
        memcpy(note->decided, held->decided, note->copy.device_count * sizeof note->decided[0]);
        note_update(client, note);
}

static void note_post(struct kube_client *client, struct note *note, json_t *body)
{
        const struct kube_request request = { .method = "POST", .path = note->path, .body = body };
        struct kube_call *call;

        if (!body || kube_client_call(client, &request, on_done, note, &call) < 0)
                note_free(note);
        json_decref(body);
}

void pod_notes_event(struct kube_client *client, const struct held_share *held, const char *node,
                     enum kube_reason reason, const char *sentence)
{
        const struct kube_reason_row *row = &kube_reasons[reason];
        struct note *note = note_new(held, "cannot write an event", "events");
        char now[32], name[96];
        time_t seconds = time(NULL);
        struct tm broken;

        if (!note)
                return;
        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &broken));
        snprintf(name, sizeof name, "vgpu-%.50s-", held->pod);
        note_post(client, note,
                  json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s, s:s, "
                            "s:s, s:s, s:i, s:{s:s, s:s}, s:s, s:s}",
                            "apiVersion", "v1", "kind", "Event", "metadata", "generateName", name,
                            "namespace", held->pod_namespace, "involvedObject", "apiVersion", "v1",
                            "kind", "Pod", "namespace", held->pod_namespace, "name", held->pod,
                            "uid", held->pod_uid, "type", row->type, "reason", row->text, "message",
                            sentence, "firstTimestamp", now, "lastTimestamp", now, "count", 1,
                            "source", "component", "vgpu-node", "host", node, "reportingComponent",
                            "vgpu-node", "reportingInstance", node));
}

void pod_notes_evict(struct kube_client *client, const struct held_share *held)
{
        char resource[PATH_BYTES / 2 + 32];

        snprintf(resource, sizeof resource, "pods/%.253s/eviction", held->pod);
        struct note *note = note_new(held, "cannot evict a pod with a violation", resource);
        if (note)
                note_post(client, note,
                          json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}}}", "apiVersion",
                                    "policy/v1", "kind", "Eviction", "metadata", "name", held->pod,
                                    "namespace", held->pod_namespace, "deleteOptions",
                                    "preconditions", "uid", held->pod_uid));
}
