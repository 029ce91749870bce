/* SPDX-License-Identifier: Apache-2.0 */
/* One node's entry of a file for all. */
#include "node_config.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "file.h"
#include "json_read.h"
#include "scope.h"
#include "str.h"
#include "yaml_json.h"

struct taking {
        int (*take)(void *owner, const char *key, const char *value, struct err *e);
        void *owner;
        const char *node;
};

static char next_letter(const char **text)
{
        while (**text == '-' || **text == '_')
                (*text)++;
        return (char)tolower((unsigned char)**text);
}

bool node_config_key_is(const char *key, const char *option)
{
        for (;; key++, option++) {
                const char letter = next_letter(&key);

                if (letter != next_letter(&option))
                        return false;
                if (!letter)
                        return true;
        }
}

static int value_append(struct str *text, const json_t *value)
{
        if (json_is_string(value))
                return str_append(text, json_string_value(value));
        if (json_is_integer(value))
                return str_appendf(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (json_is_boolean(value))
                return str_append(text, json_is_true(value) ? "yes" : "no");
        return -EINVAL;
}

/* "0,3" of a list, else the value itself. */
static int value_text(const json_t *value, struct str *text)
{
        size_t i;
        json_t *item;
        int r = json_is_array(value) && json_array_size(value) == 0 ? -EINVAL : 0;

        if (!json_is_array(value))
                return value_append(text, value);
        json_array_foreach (value, i, item) {
                if (r == 0 && i > 0)
                        r = str_append(text, ",");
                if (r == 0)
                        r = value_append(text, item);
        }
        return r;
}

static int take_value(const struct taking *taking, const char *key, const json_t *value,
                      struct err *e)
{
        struct str text = { 0 };
        int r = value_text(value, &text);

        if (r == 0)
                r = taking->take(taking->owner, key, text.text ? text.text : "", e);
        else
                err_set(e, r, "%s of node '%.60s' is neither a string, a number nor a list of them",
                        key, taking->node);
        str_done(&text);
        return r;
}

static bool is_name(const char *key)
{
        return node_config_key_is(key, "name") || node_config_key_is(key, "node-name");
}

static int take_entry(const struct taking *taking, json_t *entry, struct err *e)
{
        const char *key;
        json_t *value;
        int r = 0;

        json_object_foreach (entry, key, value)
                if (r == 0 && !is_name(key))
                        r = take_value(taking, key, value, e);
        return r;
}

static const char *entry_name(json_t *entry)
{
        const char *key;
        json_t *value;

        json_object_foreach (entry, key, value)
                if (is_name(key))
                        return json_string_value(value);
        return NULL;
}

/* The node's own; NULL and 0: it has none. */
static int find_entry(const json_t *list, const char *node, json_t **ret_entry, struct err *e)
{
        json_t *found = NULL, *entry;
        size_t i;

        json_array_foreach (list, i, entry) {
                const char *name = entry_name(entry);

                if (!name)
                        return err_set(e, -EINVAL, "entry %zu of the nodes has no name", i + 1);
                if (strcmp(name, node) != 0)
                        continue;
                if (found)
                        return err_set(e, -EINVAL, "node '%.60s' has two entries", node);
                found = entry;
        }
        *ret_entry = found;
        return 0;
}

/* The list, wherever it is; NULL: it is nowhere. */
static const json_t *list_of(json_t *json, struct err *e)
{
        const json_t *list = json_is_array(json) ? json : NULL;
        const char *key;
        json_t *value;

        json_object_foreach (json, key, value) {
                if (list ||
                    (!node_config_key_is(key, "nodes") && !node_config_key_is(key, "nodeconfig"))) {
                        err_set(e, -EINVAL, "unknown key '%.60s' (there is 'nodes')", key);
                        return NULL;
                }
                list = value;
        }
        if (!json_is_array(list)) {
                err_set(e, -EINVAL, "there is no list 'nodes'");
                return NULL;
        }
        return list;
}

int node_config_parse(const char *text, size_t count, const char *node,
                      int (*take)(void *owner, const char *key, const char *value, struct err *e),
                      void *owner, struct err *e)
{
        const struct taking taking = { take, owner, node };
        autojson json_t *json = NULL;
        json_t *entry = NULL;
        const json_t *list;
        int r = yaml_json_parse(text, count, &json, e);

        if (r < 0)
                return r;
        list = list_of(json, e);
        r = list ? find_entry(list, node, &entry, e) : -EINVAL;
        if (r == 0 && entry)
                r = take_entry(&taking, entry, e);
        return r;
}

int node_config_load(const char *path, const char *node,
                     int (*take)(void *owner, const char *key, const char *value, struct err *e),
                     void *owner, struct err *e)
{
        autofree char *text = NULL;
        int r = file_read(path, &text);

        if (r < 0)
                return err_set(e, r, "cannot read '%.150s': %s", path, strerror(-r));
        r = node_config_parse(text, strlen(text), node, take, owner, e);
        return r < 0 ? err_context(e, r, path) : 0;
}
