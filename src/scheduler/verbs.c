/* Filter and prioritize. Keys are Go's: "Pod", "NodeNames". */
#include "verbs.h"

#include <errno.h>
#include <string.h>

enum { SCORE_MOST = 10, FULLNESS_MOST = 1000 };

static json_t *filter_result(json_t *names, json_t *failed, const char *error)
{
        return json_pack("{s:n, s:o, s:o, s:{}, s:s}", "Nodes", "NodeNames", names, "FailedNodes",
                         failed, "FailedAndUnresolvableNodes", "Error", error);
}

json_t *verbs_filter(const struct verbs *verbs, const json_t *args)
{
        const json_t *names = json_object_get(args, "NodeNames");
        json_t *passed = json_array(), *failed = json_object(), *name;
        struct asking asking;
        struct err e = { 0 };
        size_t i;

        if (!json_is_array(names))
                return filter_result(passed, failed,
                                     "NodeNames is missing: the extender must be nodeCacheCapable");
        if (asking_read(json_object_get(args, "Pod"), verbs->with_gpu, &asking, &e) < 0)
                return filter_result(passed, failed, e.text);
        json_array_foreach(names, i, name)
        {
                const char *text = json_string_value(name);
                const struct cluster_node *node =
                        text ? cluster_node_find(verbs->cluster, text) : NULL;
                struct placement placement;

                if (!text)
                        continue;
                if (asking.pod.need_count == 0 ||
                    (node && cluster_place(node, &asking, &placement, &e) == 0))
                        json_array_append(passed, name);
                else
                        json_object_set_new(failed, text,
                                            json_string(node ? e.text : "no GPU is registered"));
        }
        return filter_result(passed, failed, "");
}

/* Full nodes first, so that whole ones stay free; or the other way. */
static int node_score(const struct verbs *verbs, const struct asking *asking, const char *name)
{
        const struct cluster_node *node = cluster_node_find(verbs->cluster, name);
        struct placement placement;

        if (!node || cluster_place(node, asking, &placement, NULL) < 0)
                return 0;
        const struct placement_node place = { .cards = node->places,
                                              .card_count = (unsigned)node->cards.count };
        const unsigned full = placement_fullness(&place, &placement);
        const unsigned score =
                (full > FULLNESS_MOST ? FULLNESS_MOST : full) * SCORE_MOST / FULLNESS_MOST;
        const bool is_spread = *asking->node_policy ? strcmp(asking->node_policy, "spread") == 0
                                                    : verbs->is_spread;

        if (strcmp(asking->node_policy, "none") == 0)
                return 0;
        return (int)(is_spread ? SCORE_MOST - score : score);
}

json_t *verbs_prioritize(const struct verbs *verbs, const json_t *args)
{
        json_t *scores = json_array(), *name;
        struct asking asking;
        size_t i;

        if (asking_read(json_object_get(args, "Pod"), verbs->with_gpu, &asking, NULL) < 0)
                return scores;
        json_array_foreach(json_object_get(args, "NodeNames"), i, name)
        {
                const char *text = json_string_value(name);

                if (text)
                        json_array_append_new(scores, json_pack("{s:s, s:i}", "Host", text, "Score",
                                                                node_score(verbs, &asking, text)));
        }
        return scores;
}
