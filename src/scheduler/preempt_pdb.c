/* SPDX-License-Identifier: Apache-2.0 */
/* NumPDBViolations of victims that were added. */
#include "preempt_pdb.h"

#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "pdb.h"
#include "pdb_query.h"
#include "str.h"

/* More than that take too long to be asked for: kube-scheduler waits. */
enum { SUBJECTS_MOST = 64 };

struct addition {
        json_t *answer;
        void (*on_done)(void *owner, json_t *answer);
        void *owner;
        struct pdb_query *query;
        unsigned count;
        struct pdb_subject subjects[SUBJECTS_MOST];
        json_t *nodes
                [SUBJECTS_MOST]; /* of the answer, by subject; those of a node stand together */
};

static void addition_end(struct addition *addition)
{
        addition->on_done(addition->owner, addition->answer);
        pdb_query_free(addition->query);
        free(addition);
}

static void on_queried(void *owner, const struct pdb_verdict *verdict)
{
        struct addition *addition = owner;
        unsigned first = 0;

        while (first < addition->count) {
                json_t *node = addition->nodes[first];
                unsigned last = first;

                while (last < addition->count && addition->nodes[last] == node)
                        last++;
                const json_int_t before = json_read_integer(node, "NumPDBViolations");

                json_object_set_new(
                        node, "NumPDBViolations",
                        json_integer(before + pdb_violations(verdict->pdbs, verdict->pods + first,
                                                             last - first)));
                first = last;
        }
        addition_end(addition);
}

/* A victim of ours, if the watch has told who it is. */
static bool subject_add(struct addition *addition, const struct cluster *cluster, const char *uid,
                        json_t *node)
{
        const struct cluster_pod *pod = uid ? cluster_pod_find(cluster, uid) : NULL;
        struct pdb_subject *subject = &addition->subjects[addition->count];

        if (!pod || !pod->names)
                return true;
        if (addition->count == SUBJECTS_MOST)
                return false;
        str_copy(subject->uid, sizeof subject->uid, uid);
        str_copy(subject->namespace_name, sizeof subject->namespace_name, pod->names);
        str_copy(subject->name, sizeof subject->name, strchr(pod->names, '\0') + 1);
        addition->nodes[addition->count++] = node;
        return true;
}

/* Ours stand behind those that kube-scheduler sent. */
static bool subjects_gather(struct addition *addition, const struct cluster *cluster,
                            const json_t *args)
{
        const json_t *metas = json_object_get(args, "NodeNameToMetaVictims");
        const json_t *sent =
                json_object_size(metas) > 0 ? metas : json_object_get(args, "NodeNameToVictims");
        json_t *node;
        const char *name;

        json_object_foreach (json_object_get(addition->answer, "NodeNameToMetaVictims"), name,
                             node) {
                const json_t *pods = json_object_get(node, "Pods");
                size_t i = json_array_size(json_object_get(json_object_get(sent, name), "Pods"));

                for (; i < json_array_size(pods); i++)
                        if (!subject_add(addition, cluster,
                                         json_read_text_or_null(json_array_get(pods, i), "UID"),
                                         node))
                                return false;
        }
        return addition->count > 0;
}

void preempt_pdb_add(struct kube_client *client, const struct cluster *cluster, const json_t *args,
                     json_t *answer, void (*on_done)(void *owner, json_t *answer), void *owner)
{
        struct addition *addition = calloc(1, sizeof *addition);

        if (!addition) {
                on_done(owner, answer);
                return;
        }
        addition->answer = answer;
        addition->on_done = on_done;
        addition->owner = owner;
        if (!subjects_gather(addition, cluster, args) ||
            pdb_query_new(client, addition->subjects, addition->count, on_queried, addition,
                          &addition->query) < 0)
                addition_end(addition);
}
