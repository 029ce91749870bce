/* SPDX-License-Identifier: Apache-2.0 */
/* Filter and prioritize. Keys are Go's: "Pod", "NodeNames". */
#include "verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_memory.h"
#include "json_read.h"
#include "scope.h"

enum { SCORE_MOST = 10 };

static const char unknown[] = "\"no GPU is registered\"";

/* "name", after a comma if something stands before it. */
static int name_append(struct str *to, char before, const char *name, size_t count)
{
        int r = to->length > 0 && to->text[to->length - 1] != before
                        ? str_append_bytes(to, ",\"", 2)
                        : str_append_bytes(to, "\"", 1);

        if (r == 0)
                r = str_append_bytes(to, name, count);
        return r == 0 ? str_append_bytes(to, "\"", 1) : r;
}

static int result_append(struct str *reply, const struct str *failed, const char *error)
{
        autojson json_t *string = json_string(error);
        autofree char *text = string ? json_memory_dump(string, JSON_ENCODE_ANY) : NULL;

        if (!text)
                return -ENOMEM;
        return str_appendf(reply,
                           "],\"FailedNodes\":{%s},\"FailedAndUnresolvableNodes\":{},\"Error\":%s}",
                           failed->text ? failed->text : "", text);
}

static int begin_append(struct str *reply)
{
        return str_append(reply, "{\"Nodes\":null,\"NodeNames\":[");
}

int verbs_filter_error(const char *error, struct str *reply)
{
        const int r = begin_append(reply);

        return r == 0 ? result_append(reply, &(struct str){ 0 }, error) : r;
}

/* The pod's own nomination holds against others, and the class is everybody's. */
static bool nomination_fits(const struct verbs *verbs, const struct request_class *class)
{
        struct placement placement;

        return cluster_place(verbs->nomination->node, &class->gpu_request, verbs->nomination->uid,
                             &placement, NULL) == 0;
}

/* Why not; NULL: it fits. */
static const char *reason_of(const struct verbs *verbs, struct request_class *class,
                             const char *name, size_t count)
{
        const struct cluster_node *node = cluster_node_find_bytes(verbs->cluster, name, count);
        const struct request_answer *answer = node ? request_class_query(class, node) : NULL;

        if (class->gpu_request.pod.need_count == 0)
                return NULL;
        if (!node)
                return unknown;
        if (verbs->nomination && verbs->nomination->node == node && nomination_fits(verbs, class))
                return NULL;
        if (!answer)
                return "\"out of memory\"";
        return answer->reason ? request_class_reason(class, answer) : NULL;
}

int verbs_filter(const struct verbs *verbs, const struct args *args, struct request_class *class,
                 struct str *reply, size_t *ret_passed)
{
        const char *at = args->names, *name;
        struct str failed = { 0 };
        size_t count;
        int r = begin_append(reply);

        *ret_passed = 0;
        while (r == 0 && args_next(args, &at, &name, &count)) {
                const char *reason = reason_of(verbs, class, name, count);

                if (!reason) {
                        r = name_append(reply, '[', name, count);
                        ++*ret_passed;
                        continue;
                }
                r = name_append(&failed, '\0', name, count);
                if (r == 0)
                        r = str_append_bytes(&failed, ":", 1);
                if (r == 0)
                        r = str_append(&failed, reason);
        }
        if (r == 0)
                r = result_append(reply, &failed,
                                  args->names ? ""
                                              : "NodeNames is missing: the extender must be "
                                                "nodeCacheCapable");
        str_done(&failed);
        return r;
}

/* Full nodes first, so that whole ones stay free; or the other way. */
static unsigned node_score(const struct verbs *verbs, struct request_class *class, const char *name,
                           size_t count)
{
        const struct cluster_node *node = cluster_node_find_bytes(verbs->cluster, name, count);
        const struct request_answer *answer = node ? request_class_query(class, node) : NULL;

        if (!answer || answer->reason)
                return 0;
        return placement_score(gpu_request_node_policy(&class->gpu_request, verbs->node_policy),
                               answer->fullness, SCORE_MOST);
}

static unsigned score_least(const struct verbs *verbs, const struct args *args,
                            struct request_class *class)
{
        const char *at = args->names, *name;
        unsigned least = SCORE_MOST;
        size_t count;

        while (least > 0 && args_next(args, &at, &name, &count)) {
                const unsigned score = node_score(verbs, class, name, count);

                if (score < least)
                        least = score;
        }
        return least;
}

/* Scores are added to others: what all nodes have in common decides nothing, and who is not named has 0. In a
 * large cluster few nodes are left to be told of, and to be read. */
int verbs_prioritize(const struct verbs *verbs, const struct args *args,
                     struct request_class *class, struct str *reply)
{
        static const char *const scores[SCORE_MOST + 1] = { "0}", "1}", "2}", "3}", "4}", "5}",
                                                            "6}", "7}", "8}", "9}", "10}" };
        const unsigned least = score_least(verbs, args, class);
        const char *at = args->names, *name, *before = "[{\"Host\":\"";
        size_t count;
        int r = 0;

        while (r == 0 && args_next(args, &at, &name, &count)) {
                const unsigned score = node_score(verbs, class, name, count);

                if (score == least)
                        continue;
                r = str_append(reply, before);
                if (r == 0)
                        r = str_append_bytes(reply, name, count);
                if (r == 0)
                        r = str_append(reply, "\",\"Score\":");
                if (r == 0)
                        r = str_append(reply, scores[score - least]);
                before = ",{\"Host\":\"";
        }
        if (r == 0)
                r = str_append(reply, *before == '[' ? "[]" : "]");
        return r;
}
