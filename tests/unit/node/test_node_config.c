/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of settings of single nodes. */
#include "node_config.h"

#include <errno.h>
#include <string.h>

#include "str.h"
#include "unit.h"

static int note(void *owner, const char *key, const char *value, struct err *e)
{
        (void)e;
        return str_appendf(owner, "%s=%s;", key, value);
}

static int refuse(void *owner, const char *key, const char *value, struct err *e)
{
        (void)owner;
        (void)value;
        return err_set(e, -EINVAL, "no %s", key);
}

static const char *taken(const char *text, struct str *out)
{
        struct err e = { 0 };

        str_done(out);
        *out = (struct str){ 0 };
        if (node_config_parse(text, strlen(text), "n1", note, out, &e) < 0)
                return "failed";
        return out->text ? out->text : "";
}

TEST(a_node_gets_its_own_entry)
{
        static const struct {
                const char *text, *taken;
        } rows[] = {
                { "nodes:\n- name: n2\n  a: 1\n- name: n1\n  b: 2.5\n  c: x\n", "b=2.5;c=x;" },
                { "- nodeName: n1\n  a: 7\n", "a=7;" },
                { "{\"nodeconfig\":[{\"name\":\"n1\",\"a\":\"2\",\"l\":[0,\"1..2\"]}]}",
                  "a=2;l=0,1..2;" },
                { "nodes:\n- name: n1\n  a: true\n  b: false\n", "a=yes;b=no;" },
                { "nodes: []\n", "" },
                { "nodes:\n- name: n2\n  a: 1\n", "" },
                { "nodes:\n- name: n1\n", "" },
        };
        struct str out = { 0 };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                CHECK_STR(taken(rows[i].text, &out), rows[i].taken);
        str_done(&out);
}

TEST(what_is_no_such_file_is_refused_with_a_sentence)
{
        static const struct {
                const char *text, *sentence;
        } rows[] = {
                { "nodes: 7\n", "there is no list 'nodes'" },
                { "node:\n- name: n1\n", "unknown key 'node' (there is 'nodes')" },
                { "nodes: []\nextra: 1\n", "unknown key 'extra' (there is 'nodes')" },
                { "nodes:\n- a: 1\n", "entry 1 of the nodes has no name" },
                { "nodes:\n- 5\n", "entry 1 of the nodes has no name" },
                { "nodes:\n- name: n1\n- name: n1\n", "node 'n1' has two entries" },
                { "nodes:\n- name: n1\n  a: {b: 1}\n",
                  "a of node 'n1' is neither a string, a number nor a list of them" },
                { "nodes:\n- name: n1\n  a: []\n",
                  "a of node 'n1' is neither a string, a number nor a list of them" },
                { "nodes:\n- name: n1\n  a: [[1]]\n",
                  "a of node 'n1' is neither a string, a number nor a list of them" },
        };
        struct str out = { 0 };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct err e = { 0 };

                CHECK(node_config_parse(rows[i].text, strlen(rows[i].text), "n1", note, &out, &e) <
                      0);
                CHECK_STR(e.text, rows[i].sentence);
        }
        str_done(&out);
}

TEST(what_the_taker_refuses_is_refused)
{
        static const char text[] = "nodes:\n- name: n1\n  a: 1\n";
        struct err e = { 0 };

        CHECK_EQ(node_config_parse(text, strlen(text), "n1", refuse, NULL, &e), -EINVAL);
        CHECK_STR(e.text, "no a");
}

TEST(keys_are_options_in_any_spelling)
{
        CHECK(node_config_key_is("deviceMemoryScaling", "device-memory-scaling"));
        CHECK(node_config_key_is("devicememoryscaling", "device-memory-scaling"));
        CHECK(node_config_key_is("device-memory-scaling", "device-memory-scaling"));
        CHECK(node_config_key_is("device_memory_scaling-", "device-memory-scaling"));
        CHECK(!node_config_key_is("deviceMemoryScalin", "device-memory-scaling"));
        CHECK(!node_config_key_is("deviceMemoryScalings", "device-memory-scaling"));
        CHECK(!node_config_key_is("", "device-memory-scaling"));
}

int main(void)
{
        return RUN(CASE(a_node_gets_its_own_entry),
                   CASE(what_is_no_such_file_is_refused_with_a_sentence),
                   CASE(what_the_taker_refuses_is_refused), CASE(keys_are_options_in_any_spelling));
}
