/* SPDX-License-Identifier: Apache-2.0 */
/* Who goes for whom: one run per pod that preempts. */
#include "preempting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "eviction.h"
#include "list.h"
#include "log.h"
#include "nomination.h"
#include "str.h"
#include "victims.h"

enum {
        SEARCH_MS = 20,   /* others wait meanwhile: the best node found by then is taken */
        ROUNDS_MOST = 64, /* of victims that a PDB protects after all */
        AGAIN_S = 10,     /* after that it waits */
        OFFERED_S = 10,   /* after so long without, the node is not to be had any more */
};

struct preempting {
        struct state *state;
        struct kube_client *client;
        struct hash runs;
        struct timer again;
        char blocked[256]; /* a node on which a PDB stood in the way */
        bool is_active;
        uint64_t evictions, refusals; /* so far */
};

/* A pod whose victims are being evicted. */
struct run {
        struct hash_link link;
        struct preempting *preempting;
        struct pod_ref pod_ref;
        struct gpu_request gpu_request;
        char *names; /* of the nodes that kube-scheduler offered, as args have them */
        struct eviction *eviction;
        json_t *spared; /* by those who may not go with others whom it would choose; NULL: nobody is */
        unsigned rounds;
};

static void run_begin(struct run *run);

static void run_free(struct run *run)
{
        hash_remove(&run->preempting->runs, &run->link);
        eviction_free(run->eviction);
        json_decref(run->spared);
        free(run->names);
        free(run);
}

/* The best node and who goes there, of those who are not protected at that time. NULL: none. */
static const struct cluster_node *node_choose(struct preempting *preempting, const struct run *run,
                                              uint64_t now_ns, struct victims *best)
{
        const struct args args = { .names = run->names, .names_end = strchr(run->names, '\0') };
        const uint64_t begin_ns = clock_now_ns();
        const struct victims_question question = { .gpu_request = &run->gpu_request,
                                                   .uid = run->pod_ref.uid,
                                                   .spared = run->spared,
                                                   .now_ns = now_ns };
        const struct cluster_node *chosen = NULL;
        struct victims *found = malloc(sizeof *found);
        const char *at = args.names, *name;
        size_t count;

        while (found && args_next(&args, &at, &name, &count)) {
                const struct cluster_node *node =
                        cluster_node_find_bytes(state_cluster(preempting->state), name, count);

                if (!node || victims_find(node, &question, found) < 0)
                        continue;
                if (!chosen || preemption_cost_compare(&found->cost, &best->cost) < 0) {
                        chosen = node;
                        *best = *found;
                }
                if (best->count == 0 || clock_now_ns() - begin_ns > SEARCH_MS * NS_PER_MS)
                        break;
        }
        free(found);
        return chosen;
}

static void on_again(struct timer *timer)
{
        struct preempting *preempting = container_of(timer, struct preempting, again);

        state_ask_again(preempting->state, preempting->blocked);
}

/* It stays pending; PDBs change, and nobody would tell kube-scheduler. */
static void run_give_up(struct run *run)
{
        struct preempting *preempting = run->preempting;
        struct victims *victims = malloc(sizeof *victims);
        const struct cluster_node *node;

        json_decref(run->spared);
        run->spared = NULL;
        node = victims ? node_choose(preempting, run, UINT64_MAX, victims) : NULL;
        if (run->rounds > 0 || *run->pod_ref.nominated_annotation)
                nomination_write(preempting->client, &run->pod_ref, NULL);
        if (node) {
                str_copy(preempting->blocked, sizeof preempting->blocked, node->name);
                loop_timer_set(kube_client_loop(preempting->client), &preempting->again,
                               AGAIN_S * NS_PER_S);
        }
        free(victims);
        run_free(run);
}

/* One who may not go is left alone for a while, by everybody; one who may, but not with the others, is spared
 * by this pod, which looks for another set. */
static void blocked_note(struct run *run, const char *uid, bool is_together)
{
        if (!is_together) {
                cluster_pod_guard(state_cluster(run->preempting->state), uid, clock_now_ns());
                return;
        }
        if (!run->spared)
                run->spared = json_array();
        json_array_append_new(run->spared, json_pack("{s:s}", "UID", uid));
}

static void on_evicted(void *owner, const char *blocked_uid, bool is_together)
{
        struct run *run = owner;
        struct cluster *cluster = state_cluster(run->preempting->state);
        const struct cluster_nomination *nomination =
                cluster_nomination_find(cluster, run->pod_ref.uid);

        run->preempting->evictions += eviction_count(run->eviction);
        run->preempting->refusals += blocked_uid != NULL;
        if (!blocked_uid || !nomination) { /* done, or the pod is gone or placed meanwhile */
                run_free(run);
                return;
        }
        blocked_note(run, blocked_uid, is_together);
        cluster_nomination_drop(cluster, run->pod_ref.uid);
        eviction_free(run->eviction);
        run->eviction = NULL;
        if (++run->rounds == ROUNDS_MOST)
                run_give_up(run);
        else
                run_begin(run);
}

static void run_begin(struct run *run)
{
        struct preempting *preempting = run->preempting;
        struct victims *victims = malloc(sizeof *victims);
        const struct cluster_node *node =
                victims ? node_choose(preempting, run, clock_now_ns(), victims) : NULL;

        if (!node) {
                run_give_up(run);
        } else if (cluster_nomination_set(state_cluster(preempting->state), &run->pod_ref,
                                          node->name, &victims->placement, clock_now_ns()) < 0) {
                run_free(run);
        } else {
                str_copy(run->pod_ref.nominated_status, sizeof run->pod_ref.nominated_status,
                         node->name);
                nomination_write(preempting->client, &run->pod_ref, node->name);
                log_info("pod %s/%s of priority %d: evicting %u pods on node %s",
                         run->pod_ref.namespace_name, run->pod_ref.name, run->pod_ref.priority,
                         victims->count, node->name);
                if (victims->count == 0 ||
                    eviction_new(preempting->client, state_cluster(preempting->state),
                                 &run->pod_ref, victims, run->rounds > 0, on_evicted, run,
                                 &run->eviction) < 0)
                        run_free(run);
        }
        free(victims);
}

static bool is_offered(const struct args *args, const char *node)
{
        const char *at = args->names, *name;
        size_t count;

        while (args_next(args, &at, &name, &count))
                if (strlen(node) == count && memcmp(node, name, count) == 0)
                        return true;
        return false;
}

/* True: victims are being evicted for this pod already. */
static bool is_waiting(struct preempting *preempting, const struct args *args,
                       const struct pod_ref *pod_ref, const struct gpu_request *gpu_request)
{
        struct cluster *cluster = state_cluster(preempting->state);
        struct cluster_nomination *nomination = cluster_nomination_find(cluster, pod_ref->uid);
        const uint64_t now_ns = clock_now_ns();

        if (hash_find(&preempting->runs, pod_ref->uid))
                return true;
        if (!nomination)
                return false;
        if (is_offered(args, nomination->node->name) && !nomination->node->is_away)
                nomination->offered_ns = now_ns;
        if (now_ns - nomination->offered_ns < OFFERED_S * NS_PER_S &&
            nomination_is_good(nomination->node, pod_ref, gpu_request, now_ns))
                return true;
        cluster_nomination_drop(cluster, pod_ref->uid);
        return false;
}

void preempting_consider(struct preempting *preempting, const struct args *args,
                         const struct gpu_request *gpu_request)
{
        const struct cluster *cluster = state_cluster(preempting->state);
        struct run *run;
        struct pod_ref pod_ref;

        if (!cluster->has_priority || gpu_request->priority <= cluster->lowest_priority)
                return;
        pod_ref_read(args->pod, &pod_ref);
        if (!preempting->is_active || !pod_ref.may_preempt || !*pod_ref.uid || !args->names ||
            gpu_request->pod.need_count == 0 || is_waiting(preempting, args, &pod_ref, gpu_request))
                return;
        run = calloc(1, sizeof *run);
        if (!run)
                return;
        run->preempting = preempting;
        run->pod_ref = pod_ref;
        run->gpu_request = *gpu_request;
        run->names = strndup(args->names, (size_t)(args->names_end - args->names));
        if (!run->names || hash_add(&preempting->runs, &run->link, run->pod_ref.uid) < 0) {
                free(run->names);
                free(run);
                return;
        }
        run_begin(run);
}

/* A pod that waits, as the watch tells: its nomination outlives a restart; and if kube-scheduler cleared it in
 * the status, it is written again. */
static void on_waiting(void *owner, const struct pod_ref *pod_ref,
                       const struct gpu_request *gpu_request)
{
        struct preempting *preempting = owner;
        const struct cluster_nomination *nomination =
                cluster_nomination_find(state_cluster(preempting->state), pod_ref->uid);

        if (!nomination && (*pod_ref->nominated_annotation || *pod_ref->nominated_status))
                nomination_follow(state_cluster(preempting->state), pod_ref, gpu_request,
                                  clock_now_ns());
        else if (nomination && !*pod_ref->nominated_status && preempting->is_active)
                nomination_write(preempting->client, pod_ref, nomination->node->name);
}

void preempting_set_active(struct preempting *preempting, bool is_active)
{
        struct hash_link *link;

        preempting->is_active = is_active;
        /* The next replica goes on with what was begun: the pods' annotations name their nominations. */
        while (!is_active && (link = hash_any(&preempting->runs)))
                run_free(container_of(link, struct run, link));
}

int preempting_print(const struct preempting *preempting, struct str *to)
{
        return str_appendf(to,
                           "# HELP vgpu_scheduler_evictions_total Pods evicted by preemption.\n"
                           "# TYPE vgpu_scheduler_evictions_total counter\n"
                           "vgpu_scheduler_evictions_total %llu\n"
                           "# HELP vgpu_scheduler_evictions_refused_total Evictions that the API "
                           "server refused.\n"
                           "# TYPE vgpu_scheduler_evictions_refused_total counter\n"
                           "vgpu_scheduler_evictions_refused_total %llu\n"
                           "# HELP vgpu_scheduler_nominations Pods that wait for evictions on "
                           "their nominated node.\n"
                           "# TYPE vgpu_scheduler_nominations gauge\n"
                           "vgpu_scheduler_nominations %llu\n"
                           "# HELP vgpu_scheduler_decides 1: this replica is the leader.\n"
                           "# TYPE vgpu_scheduler_decides gauge\n"
                           "vgpu_scheduler_decides %d\n",
                           (unsigned long long)preempting->evictions,
                           (unsigned long long)preempting->refusals,
                           (unsigned long long)state_cluster(preempting->state)->nominations.count,
                           preempting->is_active);
}

int preempting_new(struct state *state, struct kube_client *client,
                   struct preempting **ret_preempting)
{
        struct preempting *preempting = calloc(1, sizeof *preempting);

        if (!preempting)
                return -ENOMEM;
        preempting->state = state;
        preempting->client = client;
        preempting->again.on_due = on_again;
        preempting->is_active = true;
        state_on_waiting(state, on_waiting, preempting);
        *ret_preempting = preempting;
        return 0;
}

void preempting_free(struct preempting *preempting)
{
        struct hash_link *link;

        if (!preempting)
                return;
        state_on_waiting(preempting->state, NULL, NULL);
        loop_timer_clear(kube_client_loop(preempting->client), &preempting->again);
        while ((link = hash_any(&preempting->runs)))
                run_free(container_of(link, struct run, link));
        hash_done(&preempting->runs);
        free(preempting);
}
