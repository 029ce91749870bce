/* {"Pod":{…},"Nodes":null,"NodeNames":["a","b"]} */
#include "args.h"

#include <errno.h>
#include <string.h>

#include "json_text.h"

struct span {
        const char *begin, *end;
};

static bool span_is(const struct span *span, const char *text)
{
        const size_t count = (size_t)(span->end - span->begin);

        return count == strlen(text) && memcmp(span->begin, text, count) == 0;
}

/* The next key and value of an object, behind its bracket. 1: there is one; 0: it ended; −1: no JSON. */
static int member_next(const char **at, const char *end, struct span *key, struct span *value)
{
        const char *next = json_text_space(*at, end);

        if (next < end && *next == ',')
                next = json_text_space(next + 1, end);
        if (next < end && *next == '}')
                return 0;
        key->begin = next + 1;
        next = json_text_string(next, end);
        if (!next)
                return -1;
        key->end = next - 1;
        next = json_text_space(next, end);
        if (next == end || *next != ':')
                return -1;
        value->begin = json_text_space(next + 1, end);
        value->end = *at = json_text_value(value->begin, end);
        return value->end ? 1 : -1;
}

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

static int names_take(const struct span *value, struct args *args)
{
        if (*value->begin != '[')
                return 0; /* null: there are none */
        args->names = value->begin + 1;
        args->names_end = value->end - 1;
        return names_are_good(args) ? 0 : -EINVAL;
}

/* NULL: no JSON. */
static json_t *pod_load(const struct span *value, const char *const *without)
{
        const size_t count = (size_t)(value->end - value->begin);
        struct str text = { 0 };
        json_t *pod = NULL;

        if (!without)
                return json_loadb(value->begin, count, 0, NULL);
        if (json_text_without(value->begin, count, without, &text) == 0)
                pod = json_loadb(text.text, text.length, 0, NULL);
        str_done(&text);
        return pod;
}

int args_read(const char *text, size_t count, const char *const *without, struct args *ret_args,
              struct err *e)
{
        const char *end = text + count, *at = json_text_space(text, end);
        struct span key, value;
        int r = at < end && *at == '{' ? 1 : -1;

        *ret_args = (struct args){ 0 };
        at += r > 0;
        while (r > 0 && (r = member_next(&at, end, &key, &value)) > 0) {
                if (span_is(&key, "Pod") && !ret_args->pod)
                        ret_args->pod = pod_load(&value, without);
                else if (span_is(&key, "NodeNames") && names_take(&value, ret_args) < 0)
                        r = -1;
        }
        if (r == 0 && json_is_object(ret_args->pod))
                return 0;
        args_done(ret_args);
        return err_set(e, -EINVAL, "the body is no JSON object with a Pod and NodeNames");
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
