/* SPDX-License-Identifier: Apache-2.0 */
/* {"Pod":…,"NodeNameToMetaVictims":{NODE:{"Pods":[{"UID":…}],"NumPDBViolations":0}}} */
#include "verb_preempt.h"

#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "scope.h"

/* Whole pods where kube-scheduler sends them, made into what it is answered: their UIDs. */
static json_t *metas_of(const json_t *pods)
{
        json_t *metas = json_array();
        const json_t *pod;
        size_t i;

        json_array_foreach (pods, i, pod) {
                const char *uid = json_read_text_or_null(pod, "UID");

                if (!uid)
                        uid = json_read_text_or_null(json_object_get(pod, "metadata"), "uid");
                if (uid)
                        json_array_append_new(metas, json_pack("{s:s}", "UID", uid));
        }
        return metas;
}

/* Theirs and those of ours who must go besides; NULL: it is in vain. */
static json_t *node_answer(const struct cluster_node *node, const json_t *theirs,
                           const struct victims_question *ask, struct victims *victims)
{
        struct victims_question question = *ask;
        json_t *metas = metas_of(json_object_get(theirs, "Pods"));

        question.gone = metas;
        if (!node || victims_find(node, &question, victims) < 0) {
                json_decref(metas);
                return NULL;
        }
        for (unsigned i = 0; i < victims->count; i++)
                json_array_append_new(metas, json_pack("{s:s}", "UID", victims->pods[i]->uid));
        return json_pack("{s:o, s:I}", "Pods", metas, "NumPDBViolations",
                         json_read_integer(theirs, "NumPDBViolations"));
}

json_t *verb_preempt(const struct cluster *cluster, const json_t *args,
                     const struct gpu_request *gpu_request, uint64_t now_ns)
{
        const json_t *metadata = json_object_get(json_object_get(args, "Pod"), "metadata");
        const char *uid = json_read_text_or_null(metadata, "uid");
        const struct victims_question question = { .gpu_request = gpu_request,
                                                   .uid = uid,
                                                   .now_ns = now_ns };
        const json_t *metas = json_object_get(args, "NodeNameToMetaVictims");
        const json_t *nodes =
                json_object_size(metas) > 0 ? metas : json_object_get(args, "NodeNameToVictims");
        const struct cluster_nomination *nomination =
                uid ? cluster_nomination_find(cluster, uid) : NULL;
        autofree struct victims *victims = malloc(sizeof *victims);
        json_t *answers = json_object(), *theirs;
        const char *name;

        if (!victims || !answers) {
                json_decref(answers);
                return NULL;
        }
        json_object_foreach ((json_t *)nodes, name, theirs) {
                if (nomination && strcmp(nomination->node->name, name) != 0)
                        continue;
                json_t *answer = gpu_request->pod.need_count == 0
                                         ? json_pack("{s:o, s:I}", "Pods",
                                                     metas_of(json_object_get(theirs, "Pods")),
                                                     "NumPDBViolations",
                                                     json_read_integer(theirs, "NumPDBViolations"))
                                         : node_answer(cluster_node_find(cluster, name), theirs,
                                                       &question, victims);

                if (answer)
                        json_object_set_new(answers, name, answer);
        }
        return json_pack("{s:o}", "NodeNameToMetaVictims", answers);
}
