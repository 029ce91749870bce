/* {"version":1,"pod":UID,"node":NAME,"containers":{NAME:[{"uuid":…,"memory":MiB,"cores":…}]}} */
#include "allocation.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "str.h"

static json_t *containers_make(const struct vec *parts)
{
        json_t *containers = json_object();

        for (size_t i = 0; containers && i < parts->count; i++) {
                const struct allocation_part *part = vec_at(parts, i);
                json_t *list = json_object_get(containers, part->container);

                if (!list && json_object_set_new(containers, part->container, json_array()) == 0)
                        list = json_object_get(containers, part->container);
                if (!list ||
                    json_array_append_new(list, json_pack("{s:s, s:I, s:i}", "uuid", part->uuid,
                                                          "memory", (json_int_t)part->memory_mib,
                                                          "cores", (int)part->cores)) < 0) {
                        json_decref(containers);
                        return NULL;
                }
        }
        return containers;
}

char *allocation_format(const struct allocation *allocation)
{
        json_t *root = json_pack("{s:i, s:s, s:s, s:o}", "version", ALLOCATION_VERSION, "pod",
                                 allocation->pod_uid, "node", allocation->node, "containers",
                                 containers_make(&allocation->parts));
        char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

        json_decref(root);
        return text;
}

static bool text_take(const json_t *object, const char *key, char *to, size_t to_bytes)
{
        const char *text = json_string_value(json_object_get(object, key));

        if (!text || strlen(text) >= to_bytes)
                return false;
        str_copy(to, to_bytes, text);
        return true;
}

static bool number_take(const json_t *object, const char *key, int64_t most, uint64_t *ret_number)
{
        const json_t *value = json_object_get(object, key);
        const json_int_t number = json_integer_value(value);

        if (!json_is_integer(value) || number < 0 || number > most)
                return false;
        *ret_number = (uint64_t)number;
        return true;
}

static bool part_take(struct vec *parts, const char *container, const json_t *item)
{
        struct allocation_part part = { 0 };
        uint64_t cores;

        if (strlen(container) >= sizeof part.container ||
            !text_take(item, "uuid", part.uuid, sizeof part.uuid) ||
            !number_take(item, "memory", INT64_C(1) << 40, &part.memory_mib) ||
            !number_take(item, "cores", 100, &cores))
                return false;
        part.cores = (uint32_t)cores;
        str_copy(part.container, sizeof part.container, container);
        return vec_push(parts, &part) == 0;
}

static bool root_take(const json_t *root, struct allocation *allocation)
{
        const json_t *containers = json_object_get(root, "containers");
        const char *name;
        json_t *list, *item;
        uint64_t version;
        size_t i;

        if (!number_take(root, "version", ALLOCATION_VERSION, &version) ||
            version != ALLOCATION_VERSION || !json_is_object(containers) ||
            !text_take(root, "pod", allocation->pod_uid, sizeof allocation->pod_uid) ||
            !text_take(root, "node", allocation->node, sizeof allocation->node))
                return false;
        json_object_foreach((json_t *)containers, name, list)
        {
                if (!json_is_array(list))
                        return false;
                json_array_foreach(
                        list, i, item) if (!part_take(&allocation->parts, name, item)) return false;
        }
        return true;
}

int allocation_parse(const char *text, struct allocation *ret_allocation, struct err *e)
{
        json_t *root = json_loads(text, 0, NULL);

        *ret_allocation = (struct allocation){ .parts = VEC_OF(struct allocation_part) };
        const bool is_good = json_is_object(root) && root_take(root, ret_allocation);

        json_decref(root);
        if (is_good)
                return 0;
        allocation_done(ret_allocation);
        return err_set(e, -EPROTO, "'%.60s…' is no allocation of this release", text);
}

void allocation_done(struct allocation *allocation)
{
        vec_done(&allocation->parts);
}
