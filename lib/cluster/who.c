/* Which pod it is. */
#include "who.h"

#include <string.h>

#include "kube_time.h"
#include "str.h"

static const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

void who_read(const json_t *pod, struct who *ret_who)
{
        const json_t *metadata = json_object_get(pod, "metadata");
        const json_t *spec = json_object_get(pod, "spec");
        const json_t *status = json_object_get(pod, "status");
        int64_t us = 0;

        memset(ret_who, 0, sizeof *ret_who);
        str_copy(ret_who->uid, sizeof ret_who->uid, text_of(metadata, "uid"));
        str_copy(ret_who->namespace_name, sizeof ret_who->namespace_name,
                 text_of(metadata, "namespace"));
        str_copy(ret_who->name, sizeof ret_who->name, text_of(metadata, "name"));
        str_copy(ret_who->nominated, sizeof ret_who->nominated,
                 text_of(status, "nominatedNodeName"));
        str_copy(ret_who->kept, sizeof ret_who->kept,
                 text_of(json_object_get(metadata, "annotations"), WHO_KEPT));
        ret_who->priority = (int32_t)json_integer_value(json_object_get(spec, "priority"));
        ret_who->may_preempt = strcmp(text_of(spec, "preemptionPolicy"), "Never") != 0;
        ret_who->is_leaving = *text_of(metadata, "deletionTimestamp") != '\0';
        if (kube_time_parse(text_of(status, "startTime"), &us) < 0)
                kube_time_parse(text_of(metadata, "creationTimestamp"), &us);
        ret_who->started_s = us / 1000000;
}
