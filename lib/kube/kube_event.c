/* SPDX-License-Identifier: Apache-2.0 */
/* Events about pods. */
#include "kube_event.h"

#include <stdio.h>
#include <stdlib.h>

#include "json_read.h"
#include "kube_time.h"

struct posting {
        struct kube_call *call;
};

static void on_posted(void *owner, const struct kube_answer *answer)
{
        (void)answer;
        free(owner);
}

static json_t *event_make(const struct kube_event *event)
{
        const struct kube_reason_row *reason = &kube_reasons[event->reason];
        char now[KUBE_TIME_TEXT], prefix[80];

        kube_time_format_s(kube_time_now_us(), now);
        snprintf(prefix, sizeof prefix, "%.60s.", event->pod);
        return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s, s:s, "
                         "s:{s:s}, s:s, s:s, s:i}",
                         "apiVersion", "v1", "kind", "Event", "metadata", "generateName", prefix,
                         "namespace", event->namespace_name, "involvedObject", "apiVersion", "v1",
                         "kind", "Pod", "namespace", event->namespace_name, "name", event->pod,
                         "uid", event->uid, "type", reason->type, "reason", reason->text, "message",
                         event->message, "source", "component", event->component, "firstTimestamp",
                         now, "lastTimestamp", now, "count", 1);
}

void kube_event_post(struct kube_client *client, const struct kube_event *event)
{
        struct posting *posting = malloc(sizeof *posting);
        autojson json_t *body = event_make(event);
        char path[128];
        const struct kube_request request = {
                .method = "POST", .path = path, .body = body, .tries = 1
        };

        snprintf(path, sizeof path, "/api/v1/namespaces/%.63s/events", event->namespace_name);
        if (!posting || !body ||
            kube_client_call(client, &request, on_posted, posting, &posting->call) < 0)
                free(posting);
}
