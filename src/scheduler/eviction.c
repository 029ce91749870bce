/* SPDX-License-Identifier: Apache-2.0 */
/* POST …/pods/NAME/eviction, for one victim after another: first all for show, then all in earnest. For show
 * nobody has gone, so what PDBs say of all of them together is reckoned before. */
#include "eviction.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "kube_event.h"
#include "log.h"
#include "pdb_query.h"
#include "str.h"

struct eviction {
        struct kube_client *client;
        struct cluster *cluster;
        struct pod_ref preemptor;
        void (*on_done)(void *owner, const char *blocked_uid, bool is_together);
        void *owner;
        struct pdb_query *query;
        struct kube_call *call;
        bool is_earnest, is_quiet;
        unsigned gone;
        size_t next, count;
        struct pdb_subject targets[];
};

static int next_send(struct eviction *eviction);

static void event_post(const struct eviction *eviction, enum kube_reason reason,
                       const char *namespace_name, const char *name, const char *uid,
                       const char *message)
{
        const struct kube_event event = { .namespace_name = namespace_name,
                                          .pod = name,
                                          .uid = uid,
                                          .component = "vgpu-scheduler",
                                          .reason = reason,
                                          .message = message };

        kube_event_post(eviction->client, &event);
}

static void preemptor_tell(const struct eviction *eviction, enum kube_reason reason,
                           const char *message)
{
        event_post(eviction, reason, eviction->preemptor.namespace_name, eviction->preemptor.name,
                   eviction->preemptor.uid, message);
}

static void gone_tell(const struct eviction *eviction, const struct pdb_subject *target)
{
        const struct pod_ref *preemptor = &eviction->preemptor;
        char message[512];

        snprintf(message, sizeof message,
                 "Preempted by pod %s/%.200s of priority %d, which needs its GPU",
                 preemptor->namespace_name, preemptor->name, preemptor->priority);
        event_post(eviction, KUBE_REASON_PREEMPTED, target->namespace_name, target->name,
                   target->uid, message);
        snprintf(message, sizeof message, "Evicts pod %s/%.200s for its GPU",
                 target->namespace_name, target->name);
        preemptor_tell(eviction, KUBE_REASON_PREEMPTING, message);
}

static void together_tell(const struct eviction *eviction, const struct pdb_subject *target,
                          const struct pdb_verdict *verdict)
{
        char message[512];

        snprintf(message, sizeof message,
                 "Pod %s/%.100s may not be evicted along with others: PodDisruptionBudget %.100s "
                 "allows %lld",
                 target->namespace_name, target->name, verdict->pdb, verdict->allowed);
        log_info("%s", message);
        if (!eviction->is_quiet)
                preemptor_tell(eviction, KUBE_REASON_PREEMPTION_BLOCKED, message);
}

static void blocked_tell(const struct eviction *eviction, const struct pdb_subject *target,
                         const struct kube_answer *answer)
{
        char message[512];

        snprintf(message, sizeof message, "Pod %s/%.100s may not be evicted: %.200s",
                 target->namespace_name, target->name, answer->message);
        preemptor_tell(eviction, KUBE_REASON_PREEMPTION_BLOCKED, message);
}

static void next_send_or_end(struct eviction *eviction)
{
        if (next_send(eviction) < 0)
                eviction->on_done(eviction->owner, eviction->targets[eviction->next].uid, false);
}

/* Those whom a PDB protects come first: if another takes what it has left, it is known before the rest go. */
static void targets_order(struct eviction *eviction, const bool *has_pdb)
{
        size_t first = 0;

        for (size_t i = 0; i < eviction->count; i++) {
                const struct pdb_subject target = eviction->targets[i];

                if (!has_pdb[i])
                        continue;
                eviction->targets[i] = eviction->targets[first];
                eviction->targets[first++] = target;
        }
}

static void on_queried(void *owner, const struct pdb_verdict *verdict)
{
        struct eviction *eviction = owner;

        if (verdict->spared >= 0) {
                const struct pdb_subject *target = &eviction->targets[verdict->spared];

                together_tell(eviction, target, verdict);
                eviction->on_done(eviction->owner, target->uid, true);
                return;
        }
        targets_order(eviction, verdict->has_pdb);
        next_send_or_end(eviction);
}

static void on_answer(void *owner, const struct kube_answer *answer)
{
        struct eviction *eviction = owner;
        const struct pdb_subject *target = &eviction->targets[eviction->next];
        /* Not there any more, or another pod of the same name: it has gone. */
        const bool is_gone = answer->status == 404 || answer->status == 409;

        eviction->call = NULL;
        if (!is_gone && (answer->status < 200 || answer->status > 299)) {
                log_info("pod %s/%s may not be evicted: %s", target->namespace_name, target->name,
                         answer->message);
                if (!eviction->is_quiet)
                        blocked_tell(eviction, target, answer);
                eviction->on_done(eviction->owner, target->uid, false);
                return;
        }
        if (eviction->is_earnest) {
                cluster_pod_leave(eviction->cluster, target->uid);
                eviction->gone += !is_gone;
                if (!is_gone)
                        gone_tell(eviction, target);
        }
        eviction->next++;
        if (eviction->next == eviction->count && !eviction->is_earnest) {
                eviction->is_earnest = true;
                eviction->next = 0;
        }
        if (eviction->next == eviction->count)
                eviction->on_done(eviction->owner, NULL, false);
        else
                next_send_or_end(eviction);
}

static json_t *body_make(const struct pdb_subject *target, bool is_earnest)
{
        json_t *options = json_pack("{s:{s:s}}", "preconditions", "uid", target->uid);

        if (options && !is_earnest)
                json_object_set_new(options, "dryRun", json_pack("[s]", "All"));
        return json_pack("{s:s, s:s, s:{s:s, s:s}, s:o}", "apiVersion", "policy/v1", "kind",
                         "Eviction", "metadata", "namespace", target->namespace_name, "name",
                         target->name, "deleteOptions", options);
}

static int next_send(struct eviction *eviction)
{
        const struct pdb_subject *target = &eviction->targets[eviction->next];
        autojson json_t *body = body_make(target, eviction->is_earnest);
        char path[448];
        /* One try: "too many requests" is a PDB's answer here. */
        const struct kube_request request = {
                .method = "POST", .path = path, .body = body, .tries = 1
        };

        snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s/eviction",
                 target->namespace_name, target->name);
        return body ? kube_client_call(eviction->client, &request, on_answer, eviction,
                                       &eviction->call)
                    : -ENOMEM;
}

static void target_fill(struct pdb_subject *target, const struct cluster_pod *pod)
{
        str_copy(target->uid, sizeof target->uid, pod->uid);
        str_copy(target->namespace_name, sizeof target->namespace_name, pod->names);
        str_copy(target->name, sizeof target->name, strchr(pod->names, '\0') + 1);
}

int eviction_new(struct kube_client *client, struct cluster *cluster,
                 const struct pod_ref *preemptor, const struct victims *victims, bool is_quiet,
                 void (*on_done)(void *owner, const char *blocked_uid, bool is_together),
                 void *owner, struct eviction **ret_eviction)
{
        struct eviction *eviction =
                calloc(1, sizeof *eviction + victims->count * sizeof eviction->targets[0]);

        if (!eviction)
                return -ENOMEM;
        eviction->client = client;
        eviction->cluster = cluster;
        eviction->preemptor = *preemptor;
        eviction->is_quiet = is_quiet;
        eviction->on_done = on_done;
        eviction->owner = owner;
        eviction->count = victims->count;
        for (unsigned i = 0; i < victims->count; i++)
                target_fill(&eviction->targets[i], victims->pods[i]);
        const int r = eviction->count < 2 ? next_send(eviction)
                                          : pdb_query_new(client, eviction->targets, victims->count,
                                                          on_queried, eviction, &eviction->query);

        if (r < 0) {
                eviction_free(eviction);
                return -ENOMEM;
        }
        *ret_eviction = eviction;
        return 0;
}

unsigned eviction_count(const struct eviction *eviction)
{
        return eviction->gone;
}

void eviction_free(struct eviction *eviction)
{
        if (!eviction)
                return;
        pdb_query_free(eviction->query);
        if (eviction->call)
                kube_call_cancel(eviction->call);
        free(eviction);
}
