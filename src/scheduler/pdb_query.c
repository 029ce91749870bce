/* SPDX-License-Identifier: Apache-2.0 */
/* GET …/poddisruptionbudgets, for each namespace; then, where there are some, each pod. */
#include "pdb_query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "pdb.h"
#include "str.h"

struct pdb_query {
        struct kube_client *client;
        const struct pdb_subject *subjects;
        unsigned count, next;
        void (*on_done)(void *owner, const struct pdb_verdict *verdict);
        void *owner;
        struct kube_call *call;
        json_t *pdbs;      /* of all their namespaces */
        bool *is_in_reach; /* by subject: its namespace has PDBs */
        json_t **pods;     /* by subject */
        bool has_pdbs;     /* all are known: now the pods */
};

static void verdict_tell(struct pdb_query *query)
{
        struct pdb_verdict verdict = { .has_pdb = query->is_in_reach,
                                       .pdbs = query->pdbs,
                                       .pods = query->pods };
        const json_t *pdb = NULL, *one;
        size_t i;

        for (unsigned p = 0; p < query->count; p++) {
                query->is_in_reach[p] = false;
                json_array_foreach (query->pdbs, i, one)
                        query->is_in_reach[p] |= pdb_counts(one, query->pods[p]);
        }
        verdict.spared = pdb_excess(query->pdbs, query->pods, query->count, &pdb);
        if (pdb) {
                const char *name = json_read_text_or_null(json_object_get(pdb, "metadata"), "name");

                str_copy(verdict.pdb, sizeof verdict.pdb, name ? name : "");
                verdict.allowed =
                        json_read_integer(json_object_get(pdb, "status"), "disruptionsAllowed");
        }
        query->on_done(query->owner, &verdict);
}

static bool is_first_of_namespace(const struct pdb_query *query, unsigned subject)
{
        for (unsigned i = 0; i < subject; i++)
                if (strcmp(query->subjects[i].namespace_name,
                           query->subjects[subject].namespace_name) == 0)
                        return false;
        return true;
}

static void pdbs_note(struct pdb_query *query, const json_t *list)
{
        const char *namespace_name = query->subjects[query->next].namespace_name;
        json_t *items = json_object_get(list, "items");

        if (json_array_size(items) == 0)
                return;
        json_array_extend(query->pdbs, items);
        for (unsigned i = query->next; i < query->count; i++)
                if (strcmp(query->subjects[i].namespace_name, namespace_name) == 0)
                        query->is_in_reach[i] = true;
}

static int next_ask(struct pdb_query *query);

static void on_answer(void *owner, const struct kube_answer *answer)
{
        struct pdb_query *query = owner;

        query->call = NULL;
        if (answer->status == 200 && query->has_pdbs)
                query->pods[query->next] = json_deep_copy(answer->body);
        else if (answer->status == 200)
                pdbs_note(query, answer->body);
        query->next++;
        if (next_ask(query) < 0)
                verdict_tell(query);
}

/* Whether there is something to ask about this subject, at this point. */
static bool is_to_ask(const struct pdb_query *query, unsigned subject)
{
        return query->has_pdbs ? query->is_in_reach[subject]
                               : is_first_of_namespace(query, subject);
}

/* < 0: there is nothing more to ask, or it cannot be asked. */
static int next_ask(struct pdb_query *query)
{
        const struct pdb_subject *subject;
        char path[512];
        const struct kube_request request = { .method = "GET", .path = path, .tries = 2 };

        while (query->next < query->count && !is_to_ask(query, query->next))
                query->next++;
        if (query->next == query->count && !query->has_pdbs) {
                query->has_pdbs = true;
                query->next = 0;
                return next_ask(query);
        }
        if (query->next == query->count)
                return -ENOENT;
        subject = &query->subjects[query->next];
        if (query->has_pdbs)
                snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s",
                         subject->namespace_name, subject->name);
        else
                snprintf(path, sizeof path, "/apis/policy/v1/namespaces/%s/poddisruptionbudgets",
                         subject->namespace_name);
        return kube_client_call(query->client, &request, on_answer, query, &query->call);
}

int pdb_query_new(struct kube_client *client, const struct pdb_subject *subjects, unsigned count,
                  void (*on_done)(void *owner, const struct pdb_verdict *verdict), void *owner,
                  struct pdb_query **ret_query)
{
        struct pdb_query *query = calloc(1, sizeof *query);

        if (!query)
                return -ENOMEM;
        query->client = client;
        query->subjects = subjects;
        query->count = count;
        query->on_done = on_done;
        query->owner = owner;
        query->pdbs = json_array();
        query->is_in_reach = calloc(count, sizeof query->is_in_reach[0]);
        query->pods = calloc(count, sizeof query->pods[0]);
        if (!query->pdbs || !query->is_in_reach || !query->pods || next_ask(query) < 0) {
                pdb_query_free(query);
                return -ENOMEM;
        }
        *ret_query = query;
        return 0;
}

void pdb_query_free(struct pdb_query *query)
{
        if (!query)
                return;
        if (query->call)
                kube_call_cancel(query->call);
        for (unsigned i = 0; query->pods && i < query->count; i++)
                json_decref(query->pods[i]);
        json_decref(query->pdbs);
        free(query->is_in_reach);
        free(query->pods);
        free(query);
}
