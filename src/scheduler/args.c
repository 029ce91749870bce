/* SPDX-License-Identifier: Apache-2.0 */
/* {"Pod":{…},"Nodes":null,"NodeNames":["a","b"]} */
#include "args.h"

#include <errno.h>
#include <string.h>

#include "json_text.h"
#include "kube_object.h"

/* Nodes are named without quotes, escapes or control characters. */
static bool name_is_plain(const char *name, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (name[i] == '\\' || (unsigned char)name[i] < ' ')
                        return false;
        return true;
}

static bool names_are_good(const struct args *args)
{
        const char *at = args->names, *name;
        size_t count;

        while (args_next(args, &at, &name, &count))
                if (!name_is_plain(name, count))
                        return false;
        return at == args->names_end;
}

static int names_take(const struct json_span *value, struct args *args)
{
        if (*value->begin != '[')
                return 0; /* null: there are none */
        args->names = value->begin + 1;
        args->names_end = value->end - 1;
        return names_are_good(args) ? 0 : -EINVAL;
}

/* NULL: no JSON. */
static json_t *pod_load(const struct json_span *value, const char *const *without)
{
        const size_t count = (size_t)(value->end - value->begin);
        struct str text = { 0 };
        json_t *pod = NULL;
        bool is_tamed;

        if (!without)
                return kube_object_load(value->begin, count, &is_tamed, NULL);
        if (json_text_without(value->begin, count, without, &text) == 0)
                pod = kube_object_load(text.text, text.length, &is_tamed, NULL);
        str_done(&text);
        return pod;
}

int args_read(const char *text, size_t count, const char *const *without, struct args *ret_args,
              struct err *e)
{
        const char *end = text + count, *at = json_text_space(text, end);
        struct json_span key, value;
        int r = at < end && *at == '{' ? 1 : -1;

        *ret_args = (struct args){ 0 };
        at += r > 0;
        while (r > 0 && (r = json_text_member(&at, end, &key, &value)) > 0) {
                if (json_span_is(&key, "Pod") && !ret_args->pod)
                        ret_args->pod = pod_load(&value, without);
                else if (json_span_is(&key, "NodeNames") && names_take(&value, ret_args) < 0)
                        r = -1;
        }
        if (r == 0 && json_is_object(ret_args->pod))
                return 0;
        args_done(ret_args);
        return err_set(e, -EINVAL, "the body is not a JSON object with a Pod and NodeNames");
}

void args_done(struct args *args)
{
        json_decref(args->pod);
        args->pod = NULL;
}

bool args_next(const struct args *args, const char **at, const char **ret_name, size_t *ret_count)
{
        const char *next = json_text_space(*at, args->names_end);

        if (next < args->names_end && *next == ',' && *at != args->names)
                next = json_text_space(next + 1, args->names_end);
        const char *behind = json_text_string(next, args->names_end);

        *at = behind ? behind : next;
        if (!behind)
                return false;
        *ret_name = next + 1;
        *ret_count = (size_t)(behind - next) - 2;
        return true;
}
