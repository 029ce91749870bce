/* SPDX-License-Identifier: Apache-2.0 */
/* {"version":1,"pod":UID,"node":NAME,"containers":{NAME:[{"uuid":…,"memory":MiB,"cores":…}]}} */
#include "allocation.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "json_memory.h"
#include "json_read.h"
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
        autojson json_t *root = json_pack("{s:i, s:s, s:s, s:o}", "version", ALLOCATION_VERSION,
                                          "pod", allocation->pod_uid, "node", allocation->node,
                                          "containers", containers_make(&allocation->parts));

        return root ? json_memory_dump(root, JSON_COMPACT) : NULL;
}

static int part_take(struct vec *parts, const char *container, const json_t *item)
{
        struct allocation_part part = { 0 };
        int64_t memory_mib, cores;

        if (strlen(container) >= sizeof part.container ||
            !json_read_copy(item, "uuid", part.uuid, sizeof part.uuid) ||
            !json_read_number(item, "memory", 0, INT64_C(1) << 40, &memory_mib) ||
            !json_read_number(item, "cores", 0, 100, &cores))
                return -EPROTO;
        part.memory_mib = (uint64_t)memory_mib;
        part.cores = (uint32_t)cores;
        str_copy(part.container, sizeof part.container, container);
        return vec_push(parts, &part);
}

static int root_take(const json_t *root, struct allocation *allocation)
{
        const json_t *containers = json_object_get(root, "containers");
        const char *name;
        json_t *list, *item;
        int64_t version;
        size_t i;

        if (!json_read_number(root, "version", ALLOCATION_VERSION, ALLOCATION_VERSION, &version) ||
            !json_is_object(containers) ||
            !json_read_copy(root, "pod", allocation->pod_uid, sizeof allocation->pod_uid) ||
            !json_read_copy(root, "node", allocation->node, sizeof allocation->node))
                return -EPROTO;
        json_object_foreach ((json_t *)containers, name, list) {
                if (!json_is_array(list))
                        return -EPROTO;
                json_array_foreach (list, i, item) {
                        const int r = part_take(&allocation->parts, name, item);

                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

int allocation_parse(const char *text, struct allocation *ret_allocation, struct err *e)
{
        int r = 0;
        autojson json_t *root = json_memory_load_text(text, &r);

        *ret_allocation = (struct allocation){ .parts = VEC_OF(struct allocation_part) };
        if (root)
                r = json_is_object(root) ? root_take(root, ret_allocation) : -EPROTO;
        if (r == 0)
                return 0;
        allocation_done(ret_allocation);
        if (r == -ENOMEM)
                return err_set(e, r, "cannot read the allocation: out of memory");
        return err_set(e, -EPROTO, "'%.60s…' is not an allocation of this release", text);
}

void allocation_done(struct allocation *allocation)
{
        vec_done(&allocation->parts);
}
