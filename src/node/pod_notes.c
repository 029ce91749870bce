/* Annotations, events and evictions. */
#include "pod_notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocation.h"
#include "log.h"
#include "scope.h"

enum { PATH_BYTES = 512 };
#define MIB (UINT64_C(1) << 20)

/* A note on its way. */
struct note {
        char what[64], path[PATH_BYTES];
        char container[64];
        struct share_copy copy;
};

static void on_done(void *owner, const struct kube_answer *answer)
{
        struct note *note = owner;

        if (answer->status < 200 || answer->status >= 300)
                log_warn("%s: %s", note->what, answer->message);
        free(note);
}

/* What was decided is raised to what the share has; what it no longer has stays set aside for it. */
static bool part_raise(struct allocation_part *part, const struct share_copy *copy)
{
        const int device = share_find_device(copy, part->uuid);
        bool has_changed = false;

        if (device < 0)
                return false;
        const struct share_device *row = &copy->devices[device];
        const uint64_t limit = row->limit_bytes;

        if (limit != SHARE_UNLIMITED && limit / MIB > part->memory_mib) {
                part->memory_mib = limit / MIB;
                has_changed = true;
        }
        if (part->cores && row->cores_percent > part->cores) {
                part->cores = row->cores_percent;
                has_changed = true;
        }
        return has_changed;
}

/* An annotation by which the pod was resized before says the same as the decision. */
static void resize_follow(json_t *annotations, const struct allocation_part *part)
{
        char text[32];

        if (json_object_get(annotations, "vgpu.io/memory")) {
                snprintf(text, sizeof text, "%lluMi", (unsigned long long)part->memory_mib);
                json_object_set_new(annotations, "vgpu.io/memory", json_string(text));
        }
        if (part->cores && json_object_get(annotations, "vgpu.io/cores")) {
                snprintf(text, sizeof text, "%u", part->cores);
                json_object_set_new(annotations, "vgpu.io/cores", json_string(text));
        }
}

bool pod_notes_raise(json_t *annotations, const char *container, const struct share_copy *copy)
{
        const char *text = json_string_value(json_object_get(annotations, ALLOCATION_ANNOTATION));
        struct allocation allocation;
        bool has_changed = false;

        if (!text || allocation_parse(text, &allocation, NULL) < 0)
                return false;
        for (size_t i = 0; i < allocation.parts.count; i++) {
                struct allocation_part *part = vec_at(&allocation.parts, i);

                if (strcmp(part->container, container) != 0 || !part_raise(part, copy))
                        continue;
                has_changed = true;
                resize_follow(annotations, part);
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
        const char *uid = json_string_value(json_object_get(metadata, "uid"));

        return uid && strcmp(uid, note->copy.pod_uid) == 0 &&
               pod_notes_raise(json_object_get(metadata, "annotations"), note->container,
                               &note->copy);
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

void pod_notes_allocation(struct kube_client *client, const struct held_share *held)
{
        char rest[PATH_BYTES / 2 + 16];
        struct kube_update *update;

        snprintf(rest, sizeof rest, "pods/%.253s", held->pod);
        struct note *note = note_new(held, "the scheduler is not told of a raised share", rest);
        if (note && kube_client_update(client, note->path, pod_change, on_done, note, &update) < 0)
                free(note);
}

static void note_post(struct kube_client *client, struct note *note, json_t *body)
{
        const struct kube_request request = { .method = "POST", .path = note->path, .body = body };
        struct kube_call *call;

        if (!body || kube_client_call(client, &request, on_done, note, &call) < 0)
                free(note);
        json_decref(body);
}

void pod_notes_event(struct kube_client *client, const struct held_share *held, const char *node,
                     const char *reason, const char *sentence)
{
        struct note *note = note_new(held, "an event cannot be written", "events");
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
                            "uid", held->pod_uid, "type", "Warning", "reason", reason, "message",
                            sentence, "firstTimestamp", now, "lastTimestamp", now, "count", 1,
                            "source", "component", "vgpu-node", "host", node, "reportingComponent",
                            "vgpu-node", "reportingInstance", node));
}

void pod_notes_evict(struct kube_client *client, const struct held_share *held)
{
        char rest[PATH_BYTES / 2 + 32];

        snprintf(rest, sizeof rest, "pods/%.253s/eviction", held->pod);
        struct note *note = note_new(held, "a pod that cheats is not evicted", rest);
        if (note)
                note_post(client, note,
                          json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}}}", "apiVersion",
                                    "policy/v1", "kind", "Eviction", "metadata", "name", held->pod,
                                    "namespace", held->pod_namespace, "deleteOptions",
                                    "preconditions", "uid", held->pod_uid));
}
