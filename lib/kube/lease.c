/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the Lease, does what the rules say, waits, again. */
#include "lease.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "json_read.h"
#include "kube_time.h"
#include "list.h"
#include "str.h"

#define ASKED "vgpu.io/asked"

struct lease {
        struct kube_client *client;
        struct lease_rules rules;
        struct lease_options options;
        char namespace_name[64], name[64];
        char version[64]; /* of the object as it was read or written last */
        struct kube_call *call;
        struct timer check; /* the next one */
        struct timer lapse; /* when it leads no more, if nothing arrives */
        enum lease_act act;
        uint64_t sent_ns;
        bool has_told; /* that it leads */
        bool is_releasing;
        void (*on_released)(void *owner);
        void *owner;
};

static struct loop *loop_of(const struct lease *lease)
{
        return kube_client_loop(lease->client);
}

static void tell(struct lease *lease)
{
        const bool leads = lease_leads(lease);

        if (leads)
                loop_timer_set(loop_of(lease), &lease->lapse,
                               lease->rules.renewed_ns +
                                       lease->rules.times.gives_up_ms * NS_PER_MS - clock_now_ns());
        if (leads == lease->has_told)
                return;
        lease->has_told = leads;
        lease->options.on_change(lease->options.owner, leads);
}

static void on_lapse(struct timer *timer)
{
        tell(container_of(timer, struct lease, lapse));
}

static void check_later(struct lease *lease, bool is_soon)
{
        const uint64_t retry_ms = lease->rules.times.retry_ms;
        /* Up to a fifth more, by chance: replicas that began together go apart. */
        const uint64_t more_ms = retry_ms * (backoff_chance() >> 8) / 5 >> 24;

        loop_timer_set(loop_of(lease), &lease->check,
                       is_soon ? 0 : (retry_ms + more_ms) * NS_PER_MS);
}

static void released(struct lease *lease)
{
        lease->is_releasing = false;
        if (lease->on_released)
                lease->on_released(lease->owner);
}

static void version_note(struct lease *lease, const json_t *object)
{
        str_copy(lease->version, sizeof lease->version,
                 json_read_text(json_object_get(object, "metadata"), "resourceVersion"));
}

static void on_written(void *owner, const struct kube_answer *answer)
{
        struct lease *lease = owner;
        const bool is_good = answer->status == 200 || answer->status == 201;

        lease->call = NULL;
        if (lease->is_releasing) {
                released(lease);
                return;
        }
        if (is_good)
                version_note(lease, answer->body);
        if (is_good && lease->act != LEASE_ASK)
                lease_rules_done(&lease->rules, lease->act, lease->sent_ns);
        check_later(lease, answer->status == 409);
        tell(lease);
}

static void record_read(const json_t *object, struct lease_record *ret_record)
{
        const json_t *metadata = json_object_get(object, "metadata");
        const json_t *spec = json_object_get(object, "spec");

        *ret_record = (struct lease_record){ 0 };
        str_copy(ret_record->holder, LEASE_IDENTITY, json_read_text(spec, "holderIdentity"));
        str_copy(ret_record->asked, LEASE_IDENTITY,
                 json_read_text(json_object_get(metadata, "annotations"), ASKED));
        str_copy(ret_record->version, sizeof ret_record->version,
                 json_read_text(metadata, "resourceVersion"));
        ret_record->lasts_ms = 1000u * (unsigned)json_read_integer(spec, "leaseDurationSeconds");
}

static json_t *spec_make(const struct lease *lease, const json_t *before)
{
        const bool is_change = lease->act != LEASE_RENEW;
        const bool is_gift = lease->act == LEASE_GIVE;
        const char *acquired = json_read_text(before, "acquireTime");
        const json_int_t changes =
                json_read_integer(before, "leaseTransitions") + (lease->act == LEASE_TAKE);
        char now[KUBE_TIME_TEXT];

        kube_time_format_us(kube_time_now_us(), now);
        return json_pack("{s:s, s:I, s:s, s:s, s:I}", "holderIdentity",
                         is_gift ? "" : lease->rules.identity, "leaseDurationSeconds",
                         (json_int_t)(lease->rules.times.lasts_ms + 999) / 1000, "acquireTime",
                         is_change || !*acquired ? now : acquired, "renewTime", now,
                         "leaseTransitions", changes);
}

/* The object as it is to be; who asked stays until the lease is theirs. */
static json_t *object_make(const struct lease *lease, const json_t *before)
{
        const char *asked = lease->rules.has_seen ? lease->rules.seen.asked : "";
        const bool is_mine = strcmp(asked, lease->rules.identity) == 0;
        const json_t *spec = json_object_get(before, "spec");

        if (lease->act == LEASE_ASK)
                asked = lease->rules.identity;
        else if (is_mine || lease->act == LEASE_TAKE)
                asked = "";
        return json_pack("{s:s, s:s, s:{s:s, s:s, s:s*, s:{s:s}}, s:o}", "apiVersion",
                         "coordination.k8s.io/v1", "kind", "Lease", "metadata", "name", lease->name,
                         "namespace", lease->namespace_name, "resourceVersion",
                         before ? lease->version : NULL, "annotations", ASKED, asked, "spec",
                         lease->act == LEASE_ASK ? json_deep_copy(spec) : spec_make(lease, spec));
}

static void act(struct lease *lease, const json_t *before)
{
        autojson json_t *object = object_make(lease, before);
        char path[224];
        const struct kube_request request = { .method = before ? "PUT" : "POST",
                                              .path = path,
                                              .body = object,
                                              .timeout_ms = lease->rules.times.gives_up_ms / 2,
                                              .tries = 1 };

        snprintf(path, sizeof path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases%s%s",
                 lease->namespace_name, before ? "/" : "", before ? lease->name : "");
        lease->sent_ns = clock_now_ns();
        if (!object ||
            kube_client_call(lease->client, &request, on_written, lease, &lease->call) < 0)
                check_later(lease, false);
}

static void on_read(void *owner, const struct kube_answer *answer)
{
        struct lease *lease = owner;
        struct lease_record record;

        lease->call = NULL;
        if (answer->status != 404 && (answer->status != 200 || !answer->body)) {
                check_later(lease, false);
                tell(lease);
                return;
        }
        record_read(answer->body, &record);
        version_note(lease, answer->body);
        lease->act = lease_rules_see(&lease->rules, answer->status == 200 ? &record : NULL,
                                     clock_now_ns());
        tell(lease);
        if (lease->act == LEASE_GIVE) { /* not one write more */
                lease->rules.is_ours = false;
                tell(lease);
        }
        if (lease->act == LEASE_WAIT)
                check_later(lease, false);
        else
                act(lease, answer->status == 200 ? answer->body : NULL);
}

static void on_check(struct timer *timer)
{
        struct lease *lease = container_of(timer, struct lease, check);
        char path[224];
        const struct kube_request request = { .method = "GET",
                                              .path = path,
                                              .timeout_ms = lease->rules.times.gives_up_ms / 2,
                                              .tries = 1 };

        if (lease->call || lease->is_releasing)
                return;
        snprintf(path, sizeof path, "/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s",
                 lease->namespace_name, lease->name);
        if (kube_client_call(lease->client, &request, on_read, lease, &lease->call) < 0)
                check_later(lease, false);
}

int lease_new(struct kube_client *client, const struct lease_options *options,
              struct lease **ret_lease)
{
        struct lease *lease = calloc(1, sizeof *lease);

        if (!lease)
                return -ENOMEM;
        lease->client = client;
        lease->options = *options;
        str_copy(lease->namespace_name, sizeof lease->namespace_name, options->namespace_name);
        str_copy(lease->name, sizeof lease->name, options->name);
        lease_rules_init(&lease->rules, options->identity, &options->times);
        lease->check.on_due = on_check;
        lease->lapse.on_due = on_lapse;
        check_later(lease, true);
        *ret_lease = lease;
        return 0;
}

void lease_free(struct lease *lease)
{
        if (!lease)
                return;
        if (lease->call)
                kube_call_cancel(lease->call);
        loop_timer_clear(loop_of(lease), &lease->check);
        loop_timer_clear(loop_of(lease), &lease->lapse);
        free(lease);
}

bool lease_leads(const struct lease *lease)
{
        return !lease->is_releasing && lease_rules_leads(&lease->rules, clock_now_ns());
}

void lease_note_asked(struct lease *lease)
{
        const uint64_t now_ns = clock_now_ns();
        const bool is_first =
                !lease->rules.asked_ns ||
                now_ns - lease->rules.asked_ns > lease->rules.times.idle_ms * NS_PER_MS;

        lease_rules_note_asked(&lease->rules, now_ns);
        if (is_first && !lease_leads(lease) && !lease->call)
                check_later(lease, true);
}

void lease_release(struct lease *lease, void (*on_released)(void *owner), void *owner)
{
        const bool is_held = lease_leads(lease);

        lease->on_released = on_released;
        lease->owner = owner;
        lease->is_releasing = true;
        tell(lease);
        if (lease->call)
                kube_call_cancel(lease->call);
        lease->call = NULL;
        lease->act = LEASE_GIVE;
        if (!is_held) {
                released(lease);
                return;
        }
        act(lease, json_null());
        if (!lease->call)
                released(lease);
}
