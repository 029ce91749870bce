/* GET …/poddisruptionbudgets, for each namespace; then, where there are some, each pod. */
#include "budget_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "str.h"

struct budget_look {
        struct kube_client *client;
        const struct budget_subject *subjects;
        unsigned count, next;
        void (*on_done)(void *owner, const struct budget_verdict *verdict);
        void *owner;
        struct kube_call *call;
        json_t *budgets;   /* of all their namespaces */
        bool *is_in_reach; /* by subject: its namespace has budgets */
        json_t **pods;     /* by subject */
        bool has_budgets;  /* all are known: now the pods */
};

static void verdict_tell(struct budget_look *look)
{
        struct budget_verdict verdict = { .is_budgeted = look->is_in_reach,
                                          .budgets = look->budgets,
                                          .pods = look->pods };
        const json_t *budget = NULL, *one;
        size_t i;

        for (unsigned p = 0; p < look->count; p++) {
                look->is_in_reach[p] = false;
                json_array_foreach(look->budgets, i, one) look->is_in_reach[p] |=
                        budget_counts(one, look->pods[p]);
        }
        verdict.spared = budget_excess(look->budgets, look->pods, look->count, &budget);
        if (budget) {
                const char *name = json_string_value(
                        json_object_get(json_object_get(budget, "metadata"), "name"));

                str_copy(verdict.budget, sizeof verdict.budget, name ? name : "");
                verdict.allowed = json_integer_value(
                        json_object_get(json_object_get(budget, "status"), "disruptionsAllowed"));
        }
        look->on_done(look->owner, &verdict);
}

static bool is_first_of_namespace(const struct budget_look *look, unsigned subject)
{
        for (unsigned i = 0; i < subject; i++)
                if (strcmp(look->subjects[i].namespace_name,
                           look->subjects[subject].namespace_name) == 0)
                        return false;
        return true;
}

static void budgets_note(struct budget_look *look, const json_t *list)
{
        const char *namespace_name = look->subjects[look->next].namespace_name;
        json_t *items = json_object_get(list, "items");

        if (json_array_size(items) == 0)
                return;
        json_array_extend(look->budgets, items);
        for (unsigned i = look->next; i < look->count; i++)
                if (strcmp(look->subjects[i].namespace_name, namespace_name) == 0)
                        look->is_in_reach[i] = true;
}

static int next_ask(struct budget_look *look);

static void on_answer(void *owner, const struct kube_answer *answer)
{
        struct budget_look *look = owner;

        look->call = NULL;
        if (answer->status == 200 && look->has_budgets)
                look->pods[look->next] = json_deep_copy(answer->body);
        else if (answer->status == 200)
                budgets_note(look, answer->body);
        look->next++;
        if (next_ask(look) < 0)
                verdict_tell(look);
}

/* Whether there is something to ask about this subject, at this point. */
static bool is_to_ask(const struct budget_look *look, unsigned subject)
{
        return look->has_budgets ? look->is_in_reach[subject]
                                 : is_first_of_namespace(look, subject);
}

/* < 0: there is nothing more to ask, or it cannot be asked. */
static int next_ask(struct budget_look *look)
{
        const struct budget_subject *subject;
        char path[512];
        const struct kube_request request = { .method = "GET", .path = path, .tries = 2 };

        while (look->next < look->count && !is_to_ask(look, look->next))
                look->next++;
        if (look->next == look->count && !look->has_budgets) {
                look->has_budgets = true;
                look->next = 0;
                return next_ask(look);
        }
        if (look->next == look->count)
                return -ENOENT;
        subject = &look->subjects[look->next];
        if (look->has_budgets)
                snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s",
                         subject->namespace_name, subject->name);
        else
                snprintf(path, sizeof path, "/apis/policy/v1/namespaces/%s/poddisruptionbudgets",
                         subject->namespace_name);
        return kube_client_call(look->client, &request, on_answer, look, &look->call);
}

int budget_look_new(struct kube_client *client, const struct budget_subject *subjects,
                    unsigned count,
                    void (*on_done)(void *owner, const struct budget_verdict *verdict), void *owner,
                    struct budget_look **ret_look)
{
        struct budget_look *look = calloc(1, sizeof *look);

        if (!look)
                return -ENOMEM;
        look->client = client;
        look->subjects = subjects;
        look->count = count;
        look->on_done = on_done;
        look->owner = owner;
        look->budgets = json_array();
        look->is_in_reach = calloc(count, sizeof look->is_in_reach[0]);
        look->pods = calloc(count, sizeof look->pods[0]);
        if (!look->budgets || !look->is_in_reach || !look->pods || next_ask(look) < 0) {
                budget_look_free(look);
                return -ENOMEM;
        }
        *ret_look = look;
        return 0;
}

void budget_look_free(struct budget_look *look)
{
        if (!look)
                return;
        if (look->call)
                kube_call_cancel(look->call);
        for (unsigned i = 0; look->pods && i < look->count; i++)
                json_decref(look->pods[i]);
        json_decref(look->budgets);
        free(look->is_in_reach);
        free(look->pods);
        free(look);
}
