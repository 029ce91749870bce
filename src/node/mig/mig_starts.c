/* SPDX-License-Identifier: Apache-2.0 */
/* A short list: pods start their containers one after the other. */
#include "mig_starts.h"

#include <string.h>

#include "slot_owner.h"
#include "str.h"

enum { STARTS_MOST = 512 }; /* more devices than a node has */

void mig_starts_init(struct mig_starts *starts)
{
        *starts = (struct mig_starts){ .items = VEC_OF(struct mig_start) };
}

void mig_starts_done(struct mig_starts *starts)
{
        vec_done(&starts->items);
}

void mig_starts_forget(struct mig_starts *starts, const char *id)
{
        for (size_t i = starts->items.count; i-- > 0;)
                if (strcmp(((struct mig_start *)vec_at(&starts->items, i))->id, id) == 0)
                        vec_remove(&starts->items, i);
}

void mig_starts_note(struct mig_starts *starts, const char *resource, char *const *ids,
                     size_t id_count, uint64_t now_ns)
{
        struct mig_start start = { .call = ++starts->calls, .since_ns = now_ns };

        str_copy(start.resource, sizeof start.resource, resource);
        for (size_t i = 0; i < id_count; i++) {
                mig_starts_forget(starts, ids[i]);
                str_copy(start.id, sizeof start.id, ids[i]);
                if (starts->items.count == STARTS_MOST)
                        vec_remove(&starts->items, 0);
                vec_push(&starts->items,
                         &start); /* without memory it is refused, and tried again */
        }
}

static const V1__PodResources *pod_find(const V1__ListPodResourcesResponse *list,
                                        const char *pod_namespace, const char *pod)
{
        for (size_t i = 0; i < list->n_pod_resources; i++)
                if (strcmp(list->pod_resources[i]->namespace_, pod_namespace) == 0 &&
                    strcmp(list->pod_resources[i]->name, pod) == 0)
                        return list->pod_resources[i];
        return NULL;
}

static bool is_of_pod(const struct mig_starts *starts, uint64_t call, const V1__PodResources *pod)
{
        for (size_t i = 0; i < starts->items.count; i++) {
                struct mig_start *start = vec_at(&starts->items, i);
                char *const ids[] = { start->id };

                if (start->call == call && slot_owner_container(pod, start->resource, ids, 1))
                        return true;
        }
        return false;
}

void mig_starts_each(const struct mig_starts *starts, const V1__ListPodResourcesResponse *list,
                     const char *pod_namespace, const char *pod, uint64_t now_ns,
                     void (*visit)(void *owner, const char *id), void *owner)
{
        const V1__PodResources *found = pod_find(list, pod_namespace, pod);

        for (size_t i = 0; found && i < starts->items.count; i++) {
                const struct mig_start *start = vec_at(&starts->items, i);

                if (now_ns - start->since_ns < MIG_START_NS &&
                    is_of_pod(starts, start->call, found))
                        visit(owner, start->id);
        }
}
