/* SPDX-License-Identifier: Apache-2.0 */
/* The victims on one node. */
#include "victims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_internal.h"
#include "json_read.h"
#include "scope.h"

struct gathering {
        const struct cluster_node *node;
        const struct victims_question *question;
        struct placement_device devices[PLACEMENT_DEVICES];
        const struct cluster_pod *pods[PREEMPTION_VICTIMS];
        struct preemption_victim victims[PREEMPTION_VICTIMS];
        unsigned count;
        struct preemption_hold *holds;
        struct preemption preemption;
};

static bool is_named(const json_t *list, const char *uid)
{
        const json_t *item;
        size_t i;

        json_array_foreach (list, i, item) {
                const char *text = json_read_text_or_null(item, "UID");

                if (text && strcmp(text, uid) == 0)
                        return true;
        }
        return false;
}

static void holds_make(struct gathering *gathering, const struct cluster_pod *pod,
                       struct preemption_hold *holds, unsigned *ret_count)
{
        *ret_count = 0;
        for (unsigned i = 0; i < pod->charge_count; i++) {
                const int device = cluster_device_find(gathering->node, pod->charges[i].uuid);

                if (device >= 0)
                        holds[(*ret_count)++] =
                                (struct preemption_hold){ (unsigned)device, pod->charges[i].use };
        }
}

static bool may_go(const struct gathering *gathering, const struct cluster_pod *pod)
{
        const struct victims_question *question = gathering->question;

        return !question->is_patient && pod->names && !pod->is_assumed &&
               pod->priority < question->gpu_request->priority &&
               pod->guarded_ns <= question->now_ns && !is_named(question->spared, pod->uid) &&
               gathering->count < PREEMPTION_VICTIMS;
}

static void pods_gather(struct gathering *gathering)
{
        struct preemption_hold *holds = gathering->holds;

        for (const struct cluster_pod *pod = gathering->node->pods; pod; pod = pod->next) {
                unsigned count;

                holds_make(gathering, pod, holds, &count);
                if (pod->is_leaving || is_named(gathering->question->gone, pod->uid)) {
                        for (unsigned i = 0; i < count; i++)
                                placement_use_take(&gathering->devices[holds[i].device].used,
                                                   &holds[i].use);
                } else if (may_go(gathering, pod)) {
                        gathering->pods[gathering->count] = pod;
                        gathering->victims[gathering->count++] =
                                (struct preemption_victim){ .priority = pod->priority,
                                                            .started_s = pod->started_s,
                                                            .holds = holds,
                                                            .hold_count = count };
                        holds += count;
                }
        }
}

static int holds_new(struct gathering *gathering)
{
        size_t count = 1;

        for (const struct cluster_pod *pod = gathering->node->pods; pod; pod = pod->next)
                count += pod->charge_count;
        gathering->holds = calloc(count, sizeof gathering->holds[0]);
        return gathering->holds ? 0 : -ENOMEM;
}

static void answer(const struct gathering *gathering, struct victims *ret_victims)
{
        ret_victims->cost = gathering->preemption.cost;
        ret_victims->placement = gathering->preemption.placement;
        ret_victims->count = 0;
        for (unsigned i = 0; i < gathering->count; i++)
                if (gathering->preemption.is_chosen[i])
                        ret_victims->pods[ret_victims->count++] = gathering->pods[i];
}

int victims_find(const struct cluster_node *node, const struct victims_question *question,
                 struct victims *ret_victims)
{
        autofree struct gathering *gathering = calloc(1, sizeof *gathering);
        struct placement_node target = {
                .device_count = (unsigned)node->devices.count,
                .allowed = cluster_allowed(node, question->gpu_request),
                .links = node->links,
        };

        if (!gathering)
                return -ENOMEM;
        gathering->node = node;
        gathering->question = question;
        /* A node that is away for a moment is waited for, and nobody is evicted there. */
        if (!target.allowed || (node->is_away && !question->is_patient))
                return -ENOSPC;
        if (holds_new(gathering) < 0)
                return -ENOMEM;
        memcpy(gathering->devices, node->placement_devices,
               target.device_count * sizeof gathering->devices[0]);
        cluster_nominations_add(node, question->gpu_request->priority, question->uid,
                                gathering->devices);
        pods_gather(gathering);
        target.devices = gathering->devices;
        const int r = preemption_find(&target, &question->gpu_request->pod, gathering->victims,
                                      gathering->count, &gathering->preemption);

        if (r == 0)
                answer(gathering, ret_victims);
        free(gathering->holds);
        return r;
}
