/* SPDX-License-Identifier: Apache-2.0 */
/* A watch on our own Node, and a patch where it differs. */
#include "registration.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "clock.h"
#include "json_read.h"
#include "kube_watch.h"
#include "list.h"
#include "log.h"
#include "log_limit.h"
#include "registration_text.h"
#include "resource.h"
#include "str.h"
#include "volcano.h"

/* Volcano's scheduler drops a node whose agent did not answer its request, and asks by writing the time into
 * an annotation. A time that never comes is never asked about again: whether the agent lives is shown by
 * kubelet, which else counts no vGPU as allocatable. Its seconds change now and then, because Volcano reads
 * a registration only when the Node changes, and one that was there before Volcano began is not read. */
#define NEVER       "Requesting_9999.12.31 23:59:"
#define NEVER_ASKED NEVER "%02u"
enum { TOUCH_S = 30, NEVER_TEXT = 40 };

struct registration {
        struct kube_client *client;
        struct kube_watch *watch;
        struct kube_call *call; /* the patch, while it is outstanding */
        char *path, *status_path, *query;
        struct registration_content content;
        struct timer touch; /* with Volcano */
        unsigned touches;
        bool is_troubled; /* said so already */
        struct log_limit unread_log;
        bool is_stale;  /* changed while a patch was on its way */
        bool is_logged; /* the last patch succeeded, and was logged */
        bool is_left; /* an agent before us registered for Volcano; without --volcano that is removed */
        bool is_swept; /* the capacity too */
};

static void content_done(struct registration_content *content)
{
        free(content->devices);
        free(content->config);
        free(content->links);
        free(content->volcano);
        *content = (struct registration_content){ 0 };
}

/* The annotations as they should be; null: not there. */
static json_t *annotations_make(const struct registration *registration)
{
        const struct registration_content *content = &registration->content;
        char never[NEVER_TEXT];
        json_t *annotations =
                json_pack("{s:s, s:s, s:s?}", REGISTRATION_DEVICES, content->devices,
                          REGISTRATION_CONFIG, content->config, REGISTRATION_LINKS, content->links);

        if (content->volcano) {
                json_object_set_new(annotations, VOLCANO_REGISTER, json_string(content->volcano));
                snprintf(never, sizeof never, NEVER_ASKED, registration->touches % 60);
                json_object_set_new(annotations, VOLCANO_HANDSHAKE, json_string(never));
        } else if (registration->is_left) {
                json_object_set_new(annotations, VOLCANO_REGISTER, json_null());
                json_object_set_new(annotations, VOLCANO_HANDSHAKE, json_null());
        }
        return annotations;
}

/* The capacity as it should be; empty without Volcano. */
static json_t *capacity_make(const struct registration *registration)
{
        const struct registration_content *content = &registration->content;
        const char *memory_name = resource_name(RESOURCE_VOLCANO, RESOURCE_MEMORY);
        const char *cores_name = resource_name(RESOURCE_VOLCANO, RESOURCE_CORES);
        json_t *capacity = json_object();
        char memory[24], cores[24];

        if (!content->volcano && registration->is_left) {
                json_object_set_new(capacity, memory_name, json_null());
                json_object_set_new(capacity, cores_name, json_null());
        }
        if (!content->volcano)
                return capacity;
        snprintf(memory, sizeof memory, "%" PRIu64, content->volcano_memory_mib);
        snprintf(cores, sizeof cores, "%" PRIu64, content->volcano_cores);
        json_object_set_new(capacity, memory_name, json_string(memory));
        json_object_set_new(capacity, cores_name, json_string(cores));
        return capacity;
}

/* Has the object every member of `wanted`, with the same amount or text? */
static bool members_hold(const json_t *object, const json_t *wanted)
{
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)wanted, name, value) {
                const char *text = json_read_text_or_null(object, name);
                int64_t is, should;

                /* Of null there is no text: then neither may the object have one. */
                if (str_is_equal(text, json_string_value(value)))
                        continue;
                /* The API server writes amounts in its own way: 40960 becomes 40960, 40000 40k. */
                if (!text || !json_is_string(value) || amount_parse(text, &is, NULL) < 0 ||
                    amount_parse(json_string_value(value), &should, NULL) < 0 || is != should)
                        return false;
        }
        return true;
}

static void patch_send(struct registration *registration, const char *path, json_t *body);

static void on_written(void *owner, const struct kube_answer *answer)
{
        struct registration *registration = owner;

        registration->call = NULL;
        if (registration->is_stale) {
                registration->is_stale = false;
                patch_send(registration, registration->path,
                           json_pack("{s:{s:o}}", "metadata", "annotations",
                                     annotations_make(registration)));
                return;
        }
        if (answer->status == 200 && !registration->is_logged)
                log_info("registered the GPUs on the Node");
        registration->is_logged = answer->status == 200;
        /* Tried again with the Node's next change; kubelet makes one every few seconds. */
        if (answer->status != 200)
                log_warn("cannot register the GPUs on the Node: %s", answer->message);
}

/* Takes the body's reference. */
static void patch_send(struct registration *registration, const char *path, json_t *body)
{
        const struct kube_request request = { .method = "PATCH",
                                              .path = path,
                                              .body = body,
                                              .content_type = "application/merge-patch+json" };

        if (!body || kube_client_call(registration->client, &request, on_written, registration,
                                      &registration->call) < 0)
                registration->call = NULL;
        json_decref(body);
}

/* One patch at a time: what is still wrong after it comes with the change that it makes. */
static void write_down(struct registration *registration, const json_t *node)
{
        const json_t *present = json_object_get(json_object_get(node, "metadata"), "annotations");
        const json_t *status = json_object_get(node, "status");
        const char *handshake = json_read_text_or_null(present, VOLCANO_HANDSHAKE);

        registration->is_left |= handshake && str_starts_with(handshake, NEVER);
        autojson json_t *annotations = annotations_make(registration);
        autojson json_t *capacity = capacity_make(registration);
        const bool has_capacity = members_hold(json_object_get(status, "capacity"), capacity) &&
                                  members_hold(json_object_get(status, "allocatable"), capacity);

        if (!members_hold(present, annotations)) {
                patch_send(registration, registration->path,
                           json_pack("{s:{s:O}}", "metadata", "annotations", annotations));
        } else if (!has_capacity && (registration->content.volcano || !registration->is_swept)) {
                registration->is_swept = true; /* once: we may lack the right that it takes */
                patch_send(registration, registration->status_path,
                           json_pack("{s:{s:O, s:O}}", "status", "capacity", capacity,
                                     "allocatable", capacity));
        }
}

static void on_change(void *owner, enum kube_change change, const struct kube_name *name,
                      const json_t *object)
{
        struct registration *registration = owner;

        (void)name;
        registration->is_troubled = false;
        if (change != KUBE_DELETED && !registration->call)
                write_down(registration, object);
}

static bool content_is_whole(const struct registration_content *content)
{
        return content->devices && content->config;
}

void registration_set(struct registration *registration, const struct registration_content *content)
{
        struct registration_content copy = *content;

        if (!content_is_whole(content)) {
                content_done(&copy);
                return;
        }
        content_done(&registration->content);
        registration->content = copy;
        if (registration->call)
                registration->is_stale = true;
        else
                patch_send(registration, registration->path,
                           json_pack("{s:{s:o}}", "metadata", "annotations",
                                     annotations_make(registration)));
}

static void on_trouble(void *owner, const struct err *e)
{
        struct registration *registration = owner;

        if (!registration->is_troubled)
                log_warn("cannot watch the Node: %s", e->text);
        registration->is_troubled = true;
}

static void on_bad(void *owner, const struct err *e)
{
        struct registration *registration = owner;

        log_limit_warn(&registration->unread_log, clock_now_ns(), "%s", e->text);
}

static void on_touch(struct timer *timer)
{
        struct registration *registration = container_of(timer, struct registration, touch);

        loop_timer_set(kube_client_loop(registration->client), timer, TOUCH_S * NS_PER_S);
        registration->touches++;
        if (!registration->call)
                patch_send(registration, registration->path,
                           json_pack("{s:{s:o}}", "metadata", "annotations",
                                     annotations_make(registration)));
}

int registration_new(struct kube_client *client, const char *node_name,
                     const struct registration_content *content,
                     struct registration **ret_registration)
{
        struct registration *registration = calloc(1, sizeof *registration);
        struct kube_watch_options options = { .path = "/api/v1/nodes",
                                              .on_change = on_change,
                                              .on_trouble = on_trouble,
                                              .on_bad = on_bad,
                                              .owner = registration };
        struct registration_content copy = *content;
        int r = -ENOMEM;

        if (!registration) {
                content_done(&copy);
                return -ENOMEM;
        }
        registration->client = client;
        registration->content = copy;
        registration->touch.on_due = on_touch;
        if (copy.volcano)
                loop_timer_set(kube_client_loop(client), &registration->touch, TOUCH_S * NS_PER_S);
        if (content_is_whole(&copy) &&
            asprintf(&registration->path, "/api/v1/nodes/%s", node_name) > 0 &&
            asprintf(&registration->status_path, "/api/v1/nodes/%s/status", node_name) > 0 &&
            asprintf(&registration->query, "fieldSelector=metadata.name%%3D%s", node_name) > 0) {
                options.query = registration->query;
                r = kube_watch_new(client, &options, &registration->watch);
        }
        if (r < 0)
                registration_free(registration);
        else
                *ret_registration = registration;
        return r;
}

struct kube_watch_state registration_state(const struct registration *registration)
{
        return kube_watch_state(registration->watch);
}

void registration_free(struct registration *registration)
{
        if (!registration)
                return;
        kube_watch_free(registration->watch);
        loop_timer_clear(kube_client_loop(registration->client), &registration->touch);
        if (registration->call)
                kube_call_cancel(registration->call);
        free(registration->path);
        free(registration->status_path);
        free(registration->query);
        content_done(&registration->content);
        free(registration);
}
