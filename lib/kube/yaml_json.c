/* SPDX-License-Identifier: Apache-2.0 */
/* YAML by libyaml's events, JSON by jansson. */
#include "yaml_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH_MOST = 64 };

struct reader {
        yaml_parser_t parser;
        unsigned depth;
        struct err *e;
};

static int complain(struct reader *reader, const yaml_event_t *event, const char *what)
{
        return err_set(reader->e, -EINVAL, "line %zu: %s", event->start_mark.line + 1, what);
}

static int next(struct reader *reader, yaml_event_t *event)
{
        if (yaml_parser_parse(&reader->parser, event))
                return 0;
        return err_set(reader->e, -EINVAL, "line %zu: not YAML: %s",
                       reader->parser.problem_mark.line + 1,
                       reader->parser.problem ? reader->parser.problem : "out of memory");
}

static json_t *scalar(const yaml_event_t *event)
{
        const char *text = (const char *)event->data.scalar.value;
        char *end;
        long long number;

        if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
                return json_stringn(text, event->data.scalar.length);
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
                return json_boolean(*text == 't');
        if (strcmp(text, "null") == 0 || strcmp(text, "~") == 0 || *text == '\0')
                return json_null();
        errno = 0;
        number = strtoll(text, &end, 10);
        if (*end == '\0' && end != text && errno == 0 && *text != '+' &&
            (*text != '0' || text[1] == '\0'))
                return json_integer(number);
        return json_stringn(text, event->data.scalar.length);
}

static int read_node(struct reader *reader, const yaml_event_t *event, json_t **ret_json);

static int read_sequence(struct reader *reader, json_t *array)
{
        for (;;) {
                yaml_event_t event;
                json_t *item = NULL;
                int r = next(reader, &event);

                if (r < 0)
                        return r;
                if (event.type == YAML_SEQUENCE_END_EVENT) {
                        yaml_event_delete(&event);
                        return 0;
                }
                r = read_node(reader, &event, &item);
                yaml_event_delete(&event);
                if (r < 0)
                        return r;
                if (json_array_append_new(array, item) < 0)
                        return err_set(reader->e, -ENOMEM, "out of memory");
        }
}

/* The value of a key whose event is given. */
static int read_entry(struct reader *reader, const yaml_event_t *key, json_t *object)
{
        yaml_event_t event;
        json_t *value = NULL;
        int r;

        if (key->type != YAML_SCALAR_EVENT)
                return complain(reader, key, "a key must be a string");
        if (json_object_get(object, (const char *)key->data.scalar.value))
                return complain(reader, key, "duplicate key");
        r = next(reader, &event);
        if (r < 0)
                return r;
        r = read_node(reader, &event, &value);
        if (r == 0 && json_object_set_new(object, (const char *)key->data.scalar.value, value) < 0)
                r = complain(reader, &event, "a key that is not a string");
        yaml_event_delete(&event);
        return r;
}

static int read_mapping(struct reader *reader, json_t *object)
{
        for (;;) {
                yaml_event_t event;
                bool is_end;
                int r = next(reader, &event);

                if (r < 0)
                        return r;
                is_end = event.type == YAML_MAPPING_END_EVENT;
                if (!is_end)
                        r = read_entry(reader, &event, object);
                yaml_event_delete(&event);
                if (r < 0 || is_end)
                        return r;
        }
}

static int read_nested(struct reader *reader, const yaml_event_t *event, json_t **ret_json)
{
        const bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
        json_t *json;
        int r;

        if (reader->depth == DEPTH_MOST)
                return complain(reader, event, "nested too deeply");
        json = is_mapping ? json_object() : json_array();
        if (!json)
                return err_set(reader->e, -ENOMEM, "out of memory");
        reader->depth++;
        r = is_mapping ? read_mapping(reader, json) : read_sequence(reader, json);
        reader->depth--;
        if (r < 0)
                json_decref(json);
        else
                *ret_json = json;
        return r;
}

static int read_node(struct reader *reader, const yaml_event_t *event, json_t **ret_json)
{
        switch (event->type) {
        case YAML_SCALAR_EVENT:
                if (event->data.scalar.anchor || event->data.scalar.tag)
                        return complain(reader, event, "anchors and tags are not supported");
                *ret_json = scalar(event);
                return *ret_json ? 0 : complain(reader, event, "a value that is not a string");
        case YAML_SEQUENCE_START_EVENT:
        case YAML_MAPPING_START_EVENT:
                return read_nested(reader, event, ret_json);
        default:
                return complain(reader, event, "anchors and tags are not supported");
        }
}

/* Events up to the first node of the document. */
static int read_document(struct reader *reader, json_t **ret_json)
{
        for (;;) {
                yaml_event_t event;
                yaml_event_type_t type;
                int r = next(reader, &event);

                if (r < 0)
                        return r;
                type = event.type;
                if (type == YAML_STREAM_END_EVENT)
                        r = err_set(reader->e, -EINVAL, "empty document");
                else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT)
                        r = read_node(reader, &event, ret_json);
                yaml_event_delete(&event);
                if (r < 0 || (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT))
                        return r;
        }
}

int yaml_json_parse(const char *text, size_t count, json_t **ret_json, struct err *e)
{
        struct reader reader = { .e = e };
        int r;

        if (!yaml_parser_initialize(&reader.parser))
                return err_set(e, -ENOMEM, "out of memory");
        yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, count);
        r = read_document(&reader, ret_json);
        yaml_parser_delete(&reader.parser);
        return r;
}
