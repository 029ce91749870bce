/* SPDX-License-Identifier: Apache-2.0 */
/* kube_object: jansson reads it; what it refuses is tamed, or looked at by brackets and strings. */
#include "kube_object.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "json_memory.h"
#include "json_tame.h"
#include "json_text.h"

static const char *refusal(const json_error_t *why)
{
        switch (json_error_code(why)) {
        case json_error_stack_overflow:
                return "it is nested too deeply";
        default:
                return "it is not JSON";
        }
}

json_t *kube_object_load(const char *text, size_t count, bool *ret_is_tamed, struct err *e)
{
        struct str tame = { 0 };
        json_error_t why;
        int r = 0;
        json_t *object = json_memory_load(text, count, 0, &r, NULL);

        *ret_is_tamed = r == -EPROTO;
        if (object)
                return object;
        if (r == -EPROTO && json_tame(text, count, &tame) < 0)
                r = -ENOMEM;
        else if (r == -EPROTO)
                object = json_memory_load(tame.text ? tame.text : "", tame.length, 0, &r, &why);
        if (!object)
                err_set(e, r, "%s", r == -ENOMEM ? "out of memory" : refusal(&why));
        str_done(&tame);
        return object;
}

/* Where the value of the member begins, also if it does not end. NULL: there is none. */
static const char *member_find(const char *object, const char *end, const char *name)
{
        struct json_span key, value = { NULL, NULL };
        const char *at;

        if (!object || object >= end || *object != '{')
                return NULL;
        at = object + 1;
        while (json_text_member(&at, end, &key, &value) != 0) {
                if (value.begin && value.begin < end && json_span_is(&key, name))
                        return value.begin;
                if (!value.end)
                        return NULL;
        }
        return NULL;
}

/* Fit to be printed; what does not fit is no such name. */
static void string_copy(const char *object, const char *end, const char *name, char *to,
                        size_t to_bytes)
{
        const char *at = member_find(object, end, name);
        const char *behind = at ? json_text_string(at, end) : NULL;
        const size_t count = behind ? (size_t)(behind - at) - 2 : 0;

        if (!behind || count >= to_bytes)
                return;
        for (size_t i = 0; i < count; i++)
                to[i] = isgraph((unsigned char)at[1 + i]) ? at[1 + i] : '?';
        to[count] = '\0';
}

void kube_object_glimpse(const char *text, size_t count, bool is_event,
                         struct kube_glimpse *ret_glimpse)
{
        struct kube_glimpse seen = { 0 };
        const char *end = text + count, *object = json_text_space(text, end);

        if (is_event) {
                string_copy(object, end, "type", seen.type, sizeof seen.type);
                object = member_find(object, end, "object");
        }
        object = member_find(object, end, "metadata");
        string_copy(object, end, "namespace", seen.namespace_name, sizeof seen.namespace_name);
        string_copy(object, end, "name", seen.name, sizeof seen.name);
        string_copy(object, end, "uid", seen.uid, sizeof seen.uid);
        string_copy(object, end, "resourceVersion", seen.version, sizeof seen.version);
        *ret_glimpse = seen;
}
