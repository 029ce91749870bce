/* SPDX-License-Identifier: Apache-2.0 */
/* Would these pods find GPUs, and where? */
#include "simulate.h"

#include <stdio.h>

#include "node_read.h"
#include "unit.h"

#define DEVICE(uuid)                                                                              \
        "{\\\"id\\\":0,\\\"type\\\":\\\"A100\\\",\\\"uuid\\\":\\\"" uuid                          \
        "\\\",\\\"core\\\":100,\\\"memory\\\":1000,\\\"number\\\":10,\\\"numa\\\":0,\\\"mig\\\":" \
        "false,\\\"busId\\\":\\\"0\\\",\\\"capability\\\":8,\\\"healthy\\\":true}"
#define NODE(name)                        \
        "{\"metadata\":{\"name\":\"" name \
        "\",\"annotations\":{\"nvidia.com/node-device-register\":\"[" DEVICE("GPU-" name) "]\"}}}"
#define POD(name, memory)                                                                   \
        "{\"metadata\":{\"name\":\"" name                                                   \
        "\",\"namespace\":\"ns\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":" \
        "{\"limits\":{\"nvidia.com/gpumem\":\"" memory "\"}}}]}}"

static struct cluster cluster;

static int before(void **state)
{
        json_t *node = json_loads(NODE("there"), 0, NULL);

        (void)state;
        CHECK(node != NULL);
        CHECK_EQ(node_read(&cluster, "there", node, NULL), 0);
        json_decref(node);
        return 0;
}

static int after(void **state)
{
        (void)state;
        cluster_done(&cluster);
        return 0;
}

static json_t *ask(const char *text)
{
        json_t *args = json_loads(text, 0, NULL);

        CHECK(args != NULL);
        json_t *answer = simulate(&cluster, &(struct simulate_options){ 0 }, args);

        CHECK(answer != NULL);
        json_decref(args);
        return answer;
}

static const json_t *placed(const json_t *answer, size_t index)
{
        return json_array_get(json_object_get(answer, "Placements"), index);
}

static const char *text_at(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

TEST(pods_fill_what_is_there_and_then_what_might_be)
{
        json_t *answer = ask("{\"Pods\":[" POD("a", "600") "," POD("b", "600") "," POD(
                "c", "600") "," POD("d", "300") "],\"NodeNames\":[\"there\",\"bare\"],"
                                                "\"Nodes\":[" NODE("new") "]}");
        const uint64_t changes = cluster.changes;

        CHECK_STR(text_at(answer, "Error"), "");
        CHECK_STR(text_at(placed(answer, 0), "Node"), "there");
        CHECK_STR(text_at(placed(answer, 1), "Node"), "new");
        CHECK(json_is_true(json_object_get(placed(answer, 1), "Fits")));
        CHECK(json_is_false(json_object_get(placed(answer, 2), "Fits")));
        CHECK_EQ(json_object_size(json_object_get(placed(answer, 2), "Reasons")), 2);
        CHECK(json_is_true(json_object_get(placed(answer, 3), "Fits")));
        CHECK_STR(text_at(json_array_get(
                                  json_object_get(json_object_get(placed(answer, 1), "Containers"),
                                                  "c"),
                                  0),
                          "uuid"),
                  "GPU-new");
        json_decref(answer);
        /* Once more, the same: nothing was remembered. */
        answer = ask("{\"Pods\":[" POD("a", "1000") "],\"NodeNames\":[\"there\"]}");
        CHECK_STR(text_at(placed(answer, 0), "Node"), "there");
        CHECK_EQ(cluster.changes, changes);
        json_decref(answer);
}

#define CHOOSING(annotation, value, memory)                                          \
        "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"" annotation "\":\"" value \
        "\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":"  \
        "{\"nvidia.com/gpumem\":\"" memory "\"}}}]}}"
#define POLICY(value) CHOOSING("vgpu.io/node-policy", value, "100")

TEST(a_pod_goes_where_its_node_policy_prefers)
{
        static const struct {
                const char *pod, *node;
        } rows[] = {
                { POLICY("binpack"), "fuller" },
                { POLICY("spread"), "empty" },
                { POLICY("none"), "empty" }, /* prioritize scores all alike: the first */
                { POLICY(""), "fuller" },    /* the scheduler's own */
        };

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                char text[4096];

                snprintf(text, sizeof text,
                         "{\"Pods\":[" CHOOSING(
                                 "vgpu.io/use-gpu-uuid", "GPU-fuller",
                                 "600") ",%s],\"Nodes\":[" NODE("empty") "," NODE("fuller") "]}",
                         rows[i].pod);
                json_t *answer = ask(text);

                CHECK_STR(text_at(placed(answer, 0), "Node"), "fuller");
                CHECK_STR(text_at(placed(answer, 1), "Node"), rows[i].node);
                json_decref(answer);
        }
}

TEST(an_invalid_question_is_answered_with_an_error)
{
        static const char *const bad[] = {
                "{}",
                "{\"Pods\":{}}",
                "{\"Pods\":[],\"NodeNames\":[1]}",
                "{\"Pods\":[],\"Nodes\":[{}]}",
                "{\"Pods\":[],\"Nodes\":[" NODE("x") "," NODE("x") "]}",
                "{\"Pods\":[],\"Nodes\":[{\"metadata\":{\"name\":\"bare\"}}]}",
        };

        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                json_t *answer = ask(bad[i]);

                CHECK(*text_at(answer, "Error"));
                json_decref(answer);
        }
        json_t *answer = ask("{\"Pods\":[" POD("a", "nonsense") ", 7]}");

        CHECK(*text_at(placed(answer, 0), "Error"));
        CHECK(json_is_false(json_object_get(placed(answer, 0), "Fits")));
        json_decref(answer);
}

int main(void)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test_setup_teardown(pods_fill_what_is_there_and_then_what_might_be,
                                                before, after),
                cmocka_unit_test_setup_teardown(a_pod_goes_where_its_node_policy_prefers, before,
                                                after),
                cmocka_unit_test_setup_teardown(an_invalid_question_is_answered_with_an_error,
                                                before, after),
        };

        return cmocka_run_group_tests(cases, NULL, NULL);
}
