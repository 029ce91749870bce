/* SPDX-License-Identifier: Apache-2.0 */
/* Pods by UID. */
#include "seen_pod.h"

#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "str.h"

const struct seen_pod *seen_pods_find(const struct seen_pods *seen, const char *uid)
{
        struct hash_link *link = hash_find(&seen->pods, uid);

        return link ? container_of(link, struct seen_pod, link) : NULL;
}

struct seen_pod *seen_pods_take(struct seen_pods *seen, const char *uid)
{
        struct seen_pod *pod = (struct seen_pod *)seen_pods_find(seen, uid);

        if (pod || strlen(uid) >= sizeof pod->uid)
                return pod;
        pod = calloc(1, sizeof *pod);
        if (!pod)
                return NULL;
        pod->refusals = (struct vec)VEC_OF(struct seen_refusal);
        pod->claims = (struct vec)VEC_OF(struct seen_claim);
        str_copy(pod->uid, sizeof pod->uid, uid);
        if (hash_add(&seen->pods, &pod->link, pod->uid) < 0) {
                free(pod);
                return NULL;
        }
        return pod;
}

static void pod_free(struct seen_pods *seen, struct seen_pod *pod)
{
        hash_remove(&seen->pods, &pod->link);
        vec_done(&pod->refusals);
        vec_done(&pod->claims);
        free(pod);
}

void seen_pods_forget(struct seen_pods *seen, const char *uid)
{
        struct hash_link *link = hash_find(&seen->pods, uid);

        if (link)
                pod_free(seen, container_of(link, struct seen_pod, link));
}

void seen_pods_done(struct seen_pods *seen)
{
        struct hash_link *link;

        while ((link = hash_any(&seen->pods)))
                pod_free(seen, container_of(link, struct seen_pod, link));
        hash_done(&seen->pods);
}

static struct seen_refusal *refusal_find(const struct seen_pod *pod, const char *container,
                                         size_t *ret_index)
{
        for (size_t i = 0; i < pod->refusals.count; i++) {
                struct seen_refusal *refusal = vec_at(&pod->refusals, i);

                *ret_index = i;
                if (strcmp(refusal->container, container) == 0)
                        return refusal;
        }
        return NULL;
}

const char *seen_pod_refusal(const struct seen_pod *pod, const char *container)
{
        size_t index;
        const struct seen_refusal *refusal = refusal_find(pod, container, &index);

        return refusal ? refusal->why : NULL;
}

bool seen_pod_refuse(struct seen_pod *pod, const char *container, const char *why)
{
        struct seen_refusal *refusal, new = { 0 };
        size_t index;

        refusal = refusal_find(pod, container, &index);
        if (refusal && strcmp(refusal->why, why) == 0)
                return false;
        str_copy(new.container, sizeof new.container, container);
        str_copy(new.why, sizeof new.why, why);
        if (refusal)
                *refusal = new;
        else if (vec_push(&pod->refusals, &new) < 0)
                pod->is_partial = true;
        return true;
}

void seen_pod_claim(struct seen_pod *pod, const struct seen_claim *claim)
{
        if (vec_push(&pod->claims, claim) < 0)
                pod->is_partial = true;
}

void seen_pod_unclaim(struct seen_pod *pod, const char *container)
{
        for (size_t i = pod->claims.count; i-- > 0;) {
                const struct seen_claim *claim = vec_at(&pod->claims, i);

                if (strcmp(claim->container, container) == 0)
                        vec_remove(&pod->claims, i);
        }
}

void seen_pod_clear(struct seen_pod *pod, const char *container)
{
        size_t index;

        seen_pod_unclaim(pod, container);
        if (refusal_find(pod, container, &index))
                vec_remove(&pod->refusals, index);
}
