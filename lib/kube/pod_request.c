/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU request of one container, read. */
#include "pod_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "amount.h"
#include "json_read.h"

const char *pod_request_name(const json_t *container)
{
        const char *name = json_read_text_or_null(container, "name");

        return name ? name : "?";
}

static const json_t *list_get(const json_t *container, const char *list)
{
        return json_object_get(json_object_get(container, "resources"), list);
}

/* A quantity is a JSON string or a whole JSON number. */
static int quantity_read(const json_t *value, const char *name, int64_t *ret_amount, struct err *e)
{
        char text[32];
        int r;

        if (json_is_integer(value)) {
                snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
                r = amount_parse(text, ret_amount, e);
        } else if (json_is_string(value)) {
                r = amount_parse(json_string_value(value), ret_amount, e);
        } else {
                r = err_set(e, -EINVAL, "not a quantity");
        }
        return r < 0 ? err_context(e, r, name) : 0;
}

/* Of a resource that stands in one list: what the other says of it must be the same. */
static int other_check(const json_t *other, const char *name, int64_t amount, struct err *e)
{
        const json_t *value = json_object_get(other, name);
        int64_t theirs;

        if (!value)
                return 0;
        const int r = quantity_read(value, name, &theirs, e);

        if (r < 0)
                return r;
        if (theirs == amount)
                return 0;
        return err_set(e, -EINVAL,
                       "%s: limit %" PRId64 " and request %" PRId64 " differ; GPUs cannot be "
                       "overcommitted this way",
                       name, amount, theirs);
}

static int list_read(const json_t *list, const json_t *other, bool is_second, bool with_gpu,
                     struct request *request, struct err *e)
{
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)list, name, value) {
                struct resource resource;
                int64_t amount;
                int r;

                if (!resource_find(name, with_gpu, &resource) ||
                    (is_second && json_object_get(other, name)))
                        continue;
                r = quantity_read(value, name, &amount, e);
                if (r == 0 && !is_second)
                        r = other_check(other, name, amount, e);
                if (r == 0)
                        r = request_add(request, &resource, amount, e);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* -EINVAL, with the container's name before the sentence. */
int pod_request_refuse(const json_t *container, struct err *e)
{
        char context[96];

        snprintf(context, sizeof context, "container '%.63s'", pod_request_name(container));
        return err_context(e, -EINVAL, context);
}

int pod_request_read(const json_t *container, bool with_gpu, struct request *ret_request,
                     struct err *e)
{
        const json_t *limits = list_get(container, "limits");
        const json_t *requests = list_get(container, "requests");

        *ret_request = (struct request){ 0 };
        if (list_read(limits, requests, false, with_gpu, ret_request, e) < 0 ||
            list_read(requests, limits, true, with_gpu, ret_request, e) < 0 ||
            request_complete(ret_request, e) < 0)
                return pod_request_refuse(container, e);
        return 0;
}
