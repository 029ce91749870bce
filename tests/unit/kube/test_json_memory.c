/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of json_memory: what is read or made without enough memory is nothing, and never something else. */
#include "json_memory.h"

#include <errno.h>

#include "json_read.h"
#include "kube_object.h"
#include "unit.h"

enum { NEVER = -1, MOST = 10000 };

/* How many allocations succeed; then one fails. The linker leads malloc() here. */
static int left = NEVER;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
        return left != NEVER && left-- == 0 ? NULL : __real_malloc(size);
}

/* Texts longer than what the library begins with: it grows while it reads. */
static const char text[] = "{\"metadata\": {\"name\": "
                           "\"a-name-of-more-than-sixteen-letters-and-more-than-thirty-two\","
                           "\"number\": 123456789012345678, \"list\": [1, 2.5, true, null, "
                           "\"\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9"
                           "\\u00e9\\u00e9\\u00e9\\u00e9\"], \"a\": 1, \"b\": 2, \"c\": 3, \"d\": "
                           "4, \"e\": 5, \"f\": 6, \"g\": 7, \"h\": 8,"
                           "\"i\": 9, \"j\": 10}}";

TEST(what_is_read_is_whole_or_nothing)
{
        autojson json_t *whole = json_loads(text, 0, NULL);
        unsigned refused = 0;

        CHECK(whole);
        for (int i = 0; i < MOST; i++) {
                int r = 0;

                left = i;
                autojson json_t *value = json_memory_load(text, strlen(text), 0, &r, NULL);
                const bool has_failed = left == NEVER;
                left = NEVER;
                CHECK(!has_failed || (!value && r == -ENOMEM));
                CHECK(has_failed || json_equal(value, whole));
                refused += has_failed;
                if (!has_failed)
                        break;
        }
        CHECK(refused > 10);
}

TEST(what_is_written_is_whole_or_nothing)
{
        autojson json_t *value = json_loads(text, 0, NULL);
        char *whole = json_dumps(value, JSON_COMPACT);
        unsigned refused = 0;

        for (int i = 0; i < MOST; i++) {
                left = i;
                char *dumped = json_memory_dump(value, JSON_COMPACT);
                const bool has_failed = left == NEVER;
                left = NEVER;
                CHECK(has_failed ? !dumped : strcmp(dumped, whole) == 0);
                free(dumped);
                refused += has_failed;
                if (!has_failed)
                        break;
        }
        CHECK(refused > 3);
        free(whole);
}

TEST(an_object_without_memory_is_not_a_bad_object)
{
        for (int i = 0; i < 20; i++) {
                bool is_tamed = true;
                struct err e = { 0 };

                left = i;
                autojson json_t *value = kube_object_load(text, strlen(text), &is_tamed, &e);
                left = NEVER;
                CHECK(!value && !is_tamed);
                CHECK_EQ(e.code, -ENOMEM);
        }
}

TEST(what_is_put_together_can_be_asked_for_whether_it_is_whole)
{
        const uint64_t mark = json_memory_mark();
        autojson json_t *object = json_object();

        json_object_set_new(object, "first", json_string("value"));
        CHECK(json_memory_is_whole(mark));
        left = 0;
        json_object_set_new(object, "limit", json_string("value"));
        left = NEVER;
        CHECK_EQ(json_object_size(object), 1);
        CHECK(!json_memory_is_whole(mark));
        CHECK(json_memory_is_whole(json_memory_mark()));
}

TEST(what_is_no_json_is_refused_as_that)
{
        int r = 0;

        CHECK(!json_memory_load_text("{nonsense}", &r));
        CHECK_EQ(r, -EPROTO);
}

int main(void)
{
        return RUN(CASE(what_is_read_is_whole_or_nothing),
                   CASE(what_is_written_is_whole_or_nothing),
                   CASE(an_object_without_memory_is_not_a_bad_object),
                   CASE(what_is_put_together_can_be_asked_for_whether_it_is_whole),
                   CASE(what_is_no_json_is_refused_as_that));
}
