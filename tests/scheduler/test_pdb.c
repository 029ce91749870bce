/* SPDX-License-Identifier: Apache-2.0 */
/* Who may not go together with whom. */
#include "pdb.h"

#include "unit.h"

static json_t *parse(const char *text)
{
        json_t *json = json_loads(text, 0, NULL);

        CHECK(json != NULL);
        return json;
}

static bool selects(const char *selector, const char *labels)
{
        json_t *one = parse(selector), *other = parse(labels);
        const bool does = pdb_selects(one, other);

        json_decref(one);
        json_decref(other);
        return does;
}

TEST(an_empty_selector_chooses_all_and_none_chooses_nobody)
{
        CHECK(selects("{}", "{\"a\":\"b\"}"));
        CHECK(!pdb_selects(NULL, NULL));
}

TEST(labels_and_expressions_must_all_hold)
{
        static const char labels[] = "{\"app\":\"db\",\"tier\":\"gold\"}";

        CHECK(selects("{\"matchLabels\":{\"app\":\"db\"}}", labels));
        CHECK(!selects("{\"matchLabels\":{\"app\":\"db\",\"zone\":\"a\"}}", labels));
        CHECK(selects("{\"matchExpressions\":[{\"key\":\"tier\",\"operator\":\"In\",\"values\":"
                      "[\"gold\",\"silver\"]},{\"key\":\"app\",\"operator\":\"Exists\"}]}",
                      labels));
        CHECK(!selects("{\"matchExpressions\":[{\"key\":\"tier\",\"operator\":\"NotIn\","
                       "\"values\":[\"gold\"]}]}",
                       labels));
        CHECK(selects("{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"NotIn\","
                      "\"values\":[\"a\"]},{\"key\":\"zone\",\"operator\":\"DoesNotExist\"}]}",
                      labels));
        CHECK(!selects("{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Unheard\"}]}",
                       labels));
}

static json_t *pod_of(const char *phase, bool is_ready, int priority)
{
        return json_pack("{s:{s:s, s:{s:s}}, s:{s:i}, s:{s:s, s:[{s:s, s:s}]}}", "metadata",
                         "namespace", "d", "labels", "app", "db", "spec", "priority", priority,
                         "status", "phase", phase, "conditions", "type", "Ready", "status",
                         is_ready ? "True" : "False");
}

static json_t *pdb_of(int allowed, int healthy, int desired, const char *policy)
{
        return json_pack("{s:{s:s, s:s}, s:{s:{s:{s:s}}, s:s}, s:{s:i, s:i, s:i}}", "metadata",
                         "name", "b", "namespace", "d", "spec", "selector", "matchLabels", "app",
                         "db", "unhealthyPodEvictionPolicy", policy, "status", "disruptionsAllowed",
                         allowed, "currentHealthy", healthy, "desiredHealthy", desired);
}

static bool counts(json_t *pdb, json_t *pod)
{
        const bool does = pdb_counts(pdb, pod);

        json_decref(pdb);
        json_decref(pod);
        return does;
}

TEST(unhealthy_pods_need_no_budget_where_the_policy_allows_it)
{
        CHECK(counts(pdb_of(1, 2, 1, "IfHealthyBudget"), pod_of("Running", true, 0)));
        CHECK(!counts(pdb_of(1, 2, 1, "IfHealthyBudget"), pod_of("Pending", false, 0)));
        CHECK(!counts(pdb_of(1, 2, 1, "IfHealthyBudget"), pod_of("Running", false, 0)));
        CHECK(counts(pdb_of(1, 1, 2, "IfHealthyBudget"), pod_of("Running", false, 0)));
        CHECK(!counts(pdb_of(1, 1, 2, "AlwaysAllow"), pod_of("Running", false, 0)));
        CHECK(!counts(pdb_of(1, 2, 1, "IfHealthyBudget"), NULL));
}

TEST(the_most_important_of_those_who_may_not_go_together_is_spared)
{
        json_t *pdbs = json_pack("[o]", pdb_of(1, 3, 2, "IfHealthyBudget"));
        json_t *pods[] = { pod_of("Running", true, 5), NULL, pod_of("Running", true, 9),
                           pod_of("Pending", false, 20) };
        const json_t *pdb = NULL;

        CHECK_EQ(pdb_excess(pdbs, pods, 4, &pdb), 2);
        CHECK(pdb == json_array_get(pdbs, 0));
        json_object_set_new(json_object_get(pdb, "status"), "disruptionsAllowed", json_integer(2));
        CHECK_EQ(pdb_excess(pdbs, pods, 4, &pdb), -1);
        for (unsigned i = 0; i < 4; i++)
                json_decref(pods[i]);
        json_decref(pdbs);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_empty_selector_chooses_all_and_none_chooses_nobody),
                cmocka_unit_test(labels_and_expressions_must_all_hold),
                cmocka_unit_test(unhealthy_pods_need_no_budget_where_the_policy_allows_it),
                cmocka_unit_test(the_most_important_of_those_who_may_not_go_together_is_spared),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
