/* SPDX-License-Identifier: Apache-2.0 */
/* PodDisruptionBudgets as the API server reads them when a pod is evicted. */
#include "pdb.h"

#include <string.h>

#include "json_read.h"

static bool is_among(const json_t *values, const char *text)
{
        const json_t *value;
        size_t i;

        json_array_foreach (values, i, value) {
                const char *one = json_string_value(value);

                if (one && strcmp(one, text) == 0)
                        return true;
        }
        return false;
}

static bool expression_selects(const json_t *expression, const json_t *labels)
{
        const char *operator_name = json_read_text(expression, "operator");
        const json_t *values = json_object_get(expression, "values");
        const char *label = json_read_text_or_null(labels, json_read_text(expression, "key"));

        if (strcmp(operator_name, "In") == 0)
                return label && is_among(values, label);
        if (strcmp(operator_name, "NotIn") == 0)
                return !label || !is_among(values, label);
        if (strcmp(operator_name, "Exists") == 0)
                return label;
        return strcmp(operator_name, "DoesNotExist") == 0 && !label;
}

bool pdb_selects(const json_t *selector, const json_t *labels)
{
        const json_t *expression;
        const char *key;
        json_t *value;
        size_t i;

        if (!json_is_object(selector))
                return false;
        json_object_foreach (json_object_get(selector, "matchLabels"), key, value) {
                const char *label = json_read_text_or_null(labels, key);
                const char *wanted = json_string_value(value);

                if (!label || !wanted || strcmp(label, wanted) != 0)
                        return false;
        }
        json_array_foreach (json_object_get(selector, "matchExpressions"), i, expression) {
                if (!expression_selects(expression, labels))
                        return false;
        }
        return true;
}

static bool is_ready(const json_t *pod)
{
        const json_t *conditions = json_object_get(json_object_get(pod, "status"), "conditions");
        const json_t *condition;
        size_t i;

        json_array_foreach (conditions, i, condition) {
                if (strcmp(json_read_text(condition, "type"), "Ready") == 0)
                        return strcmp(json_read_text(condition, "status"), "True") == 0;
        }
        return false;
}

/* Pods that have not begun, have ended or are leaving go without a word; so do those that are not well, where
 * the PDB holds without them or says that it does not mind. */
static bool is_protected(const json_t *pdb, const json_t *pod)
{
        const json_t *status = json_object_get(pdb, "status");
        const char *phase = json_read_text(json_object_get(pod, "status"), "phase");
        const json_int_t desired = json_read_integer(status, "desiredHealthy");

        if (strcmp(phase, "Pending") == 0 || strcmp(phase, "Succeeded") == 0 ||
            strcmp(phase, "Failed") == 0 ||
            json_object_get(json_object_get(pod, "metadata"), "deletionTimestamp"))
                return false;
        if (is_ready(pod))
                return true;
        return strcmp(json_read_text(json_object_get(pdb, "spec"), "unhealthyPodEvictionPolicy"),
                      "AlwaysAllow") != 0 &&
               (desired == 0 || json_read_integer(status, "currentHealthy") < desired);
}

bool pdb_counts(const json_t *pdb, const json_t *pod)
{
        const json_t *metadata = json_object_get(pod, "metadata");

        return pod &&
               strcmp(json_read_text(json_object_get(pdb, "metadata"), "namespace"),
                      json_read_text(metadata, "namespace")) == 0 &&
               pdb_selects(json_object_get(json_object_get(pdb, "spec"), "selector"),
                           json_object_get(metadata, "labels")) &&
               is_protected(pdb, pod);
}

static json_int_t priority_of(const json_t *pod)
{
        return json_read_integer(json_object_get(pod, "spec"), "priority");
}

static json_int_t allowed_of(const json_t *pdb)
{
        return json_read_integer(json_object_get(pdb, "status"), "disruptionsAllowed");
}

json_int_t pdb_violations(const json_t *pdbs, json_t *const *pods, unsigned count)
{
        json_int_t violations = 0;
        const json_t *pdb;
        size_t i;

        json_array_foreach (pdbs, i, pdb) {
                json_int_t left = allowed_of(pdb);

                for (unsigned p = 0; p < count; p++)
                        if (pdb_counts(pdb, pods[p]) && --left < 0)
                                violations++;
        }
        return violations;
}

int pdb_excess(const json_t *pdbs, json_t *const *pods, unsigned count, const json_t **ret_pdb)
{
        const json_t *pdb;
        size_t i;

        json_array_foreach (pdbs, i, pdb) {
                json_int_t going = 0;
                int spared = -1;

                for (unsigned p = 0; p < count; p++) {
                        if (!pdb_counts(pdb, pods[p]))
                                continue;
                        going++;
                        if (spared < 0 || priority_of(pods[p]) >= priority_of(pods[spared]))
                                spared = (int)p;
                }
                if (going > allowed_of(pdb)) {
                        *ret_pdb = pdb;
                        return spared;
                }
        }
        return -1;
}
