/* SPDX-License-Identifier: Apache-2.0 */
/* JSON without some of its members is the JSON that a tree without them gives. */
#include "json_text.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static const char *const names[] = { "env", "managedFields", NULL };

static void becomes(const char *text, const char *wanted)
{
        struct str to = { 0 };

        CHECK_EQ(json_text_without(text, strlen(text), names, &to), 0);
        CHECK_STR(to.text, wanted);
        str_done(&to);
}

TEST(members_go_wherever_they_stand)
{
        becomes("{}", "{}");
        becomes("{\"a\":1}", "{\"a\":1}");
        becomes("{\"env\":[{\"a\":\"]\\\"}\"}],\"a\":1}", "{\"a\":1}");
        becomes("{\"a\":1,\"env\":null}", "{\"a\":1}");
        becomes("{\"env\":\"x\"}", "{}");
        becomes("{\"a\":{\"env\":1,\"env\":2},\"b\":[{\"c\":3,\"env\":{}}]}",
                "{\"a\":{},\"b\":[{\"c\":3}]}");
        becomes("{ \"a\" : 1 , \"env\" : 2 , \"b\" : 3 }", "{ \"a\" : 1 , \"b\" : 3 }");
}

TEST(similar_text_stays)
{
        becomes("{\"environment\":1,\"en\":2}", "{\"environment\":1,\"en\":2}");
        becomes("[\"env\",\"env\"]", "[\"env\",\"env\"]");
        becomes("{\"a\":\"\\\"env\\\":1\"}", "{\"a\":\"\\\"env\\\":1\"}");
}

/* A byte of 0 in a key does not end the name that it is held against. */
TEST(a_key_may_hold_any_byte)
{
        static const char text[] = "{\"env\0managedFieldsmanagedFields\":1}";
        struct str to = { 0 };

        CHECK_EQ(json_text_without(text, sizeof text - 1, names, &to), 0);
        CHECK_EQ(to.length, sizeof text - 1);
        str_done(&to);
}

TEST(what_does_not_end_is_refused)
{
        static const char *const bad[] = { "{\"env\":", "{\"a", "{\"env\":[1", "{\"env\":\"x" };
        struct str to = { 0 };

        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
                CHECK_EQ(json_text_without(bad[i], strlen(bad[i]), names, &to), -EPROTO);
        str_done(&to);
}

static json_t *random_tree(unsigned depth)
{
        static const char *const keys[] = { "env", "a", "managedFields", "b\"env\":" };
        json_t *tree;

        switch (depth ? random() % 4 : 3) {
        case 0:
        case 1:
                tree = json_object();
                for (long i = random() % 5; i > 0; i--)
                        json_object_set_new(tree, keys[random() % 4], random_tree(depth - 1));
                return tree;
        case 2:
                tree = json_array();
                for (long i = random() % 4; i > 0; i--)
                        json_array_append_new(tree, random_tree(depth - 1));
                return tree;
        default:
                return random() % 2 ? json_integer(random()) : json_string("\",\"env\":{[\\");
        }
}

static void tree_prune(json_t *tree)
{
        const char *key;
        json_t *item;
        size_t i;

        json_object_del(tree, "env");
        json_object_del(tree, "managedFields");
        json_object_foreach (tree, key, item)
                tree_prune(item);
        json_array_foreach (tree, i, item)
                tree_prune(item);
}

TEST(it_is_as_if_the_tree_had_been_pruned)
{
        srandom(5);
        for (unsigned i = 0; i < 20000; i++) {
                json_t *tree = json_pack("{s:o}", "root", random_tree(5));
                char *text = json_dumps(tree, i % 2 ? JSON_COMPACT : JSON_INDENT(2));
                struct str to = { 0 };

                CHECK_EQ(json_text_without(text, strlen(text), names, &to), 0);
                json_t *pruned = json_loads(to.text, 0, NULL);

                tree_prune(tree);
                CHECK(json_equal(tree, pruned));
                json_decref(pruned);
                json_decref(tree);
                str_done(&to);
                free(text);
        }
}

int main(void)
{
        return RUN(CASE(members_go_wherever_they_stand), CASE(similar_text_stays),
                   CASE(a_key_may_hold_any_byte), CASE(what_does_not_end_is_refused),
                   CASE(it_is_as_if_the_tree_had_been_pruned));
}
