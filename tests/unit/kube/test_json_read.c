/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of members of JSON objects that somebody else wrote. */
#include "json_read.h"

#include "unit.h"

static json_t *object_of(const char *text)
{
        json_t *object = json_loads(text, 0, NULL);

        assert_non_null(object);
        return object;
}

TEST(a_text_that_is_not_there_is_empty)
{
        autojson json_t *pod =
                object_of("{\"kind\":\"Pod\",\"spec\":{\"nodeName\":\"n\"},\"port\":1}");

        CHECK_STR(json_read_text(pod, "kind"), "Pod");
        CHECK_STR(json_read_text(pod, "port"), "");
        CHECK_STR(json_read_text(NULL, "kind"), "");
        CHECK_STR(json_read_text_in(pod, "spec", "nodeName"), "n");
        CHECK_STR(json_read_text_in(pod, "kind", "nodeName"), "");
        CHECK(!json_read_text_or_null(pod, "name"));
}

TEST(annotations_are_found_where_there_are_some)
{
        autojson json_t *pod = object_of("{\"metadata\":{\"annotations\":{\"a\":\"1\",\"b\":2}}}");
        autojson json_t *bare = object_of("{\"metadata\":{}}");

        CHECK_STR(json_read_annotation(pod, "a"), "1");
        CHECK(!json_read_annotation(pod, "b"));
        CHECK(!json_read_annotations(bare));
        CHECK(!json_read_annotation(bare, "a"));
}

TEST(what_does_not_fit_leaves_the_result_alone)
{
        autojson json_t *gpu = object_of("{\"uuid\":\"GPU-1\",\"memory\":7,\"cores\":1.5}");
        char uuid[6] = "old", small[5] = "old";
        int64_t number = -1;

        CHECK(json_read_copy(gpu, "uuid", uuid, sizeof uuid));
        CHECK_STR(uuid, "GPU-1");
        CHECK(!json_read_copy(gpu, "uuid", small, sizeof small));
        CHECK_STR(small, "old");
        CHECK(!json_read_number(gpu, "memory", 0, 6, &number));
        CHECK(!json_read_number(gpu, "memory", 8, 9, &number));
        CHECK(!json_read_number(gpu, "cores", 0, 9, &number));
        CHECK_EQ(number, -1);
        CHECK(json_read_number(gpu, "memory", 7, 7, &number));
        CHECK_EQ(number, 7);
        CHECK_EQ(json_read_integer(gpu, "memory"), 7);
        CHECK_EQ(json_read_integer(gpu, "cores"), 0);
        CHECK_EQ(json_read_integer(gpu, "number"), 0);
        CHECK(!json_read_is_true(gpu, "memory") && !json_read_is_true(gpu, "healthy"));
        json_object_set_new(gpu, "healthy", json_true());
        CHECK(json_read_is_true(gpu, "healthy"));
}

int main(void)
{
        return RUN(CASE(a_text_that_is_not_there_is_empty),
                   CASE(annotations_are_found_where_there_are_some),
                   CASE(what_does_not_fit_leaves_the_result_alone));
}
