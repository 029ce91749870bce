/* SPDX-License-Identifier: Apache-2.0 */
/* Volcano's decision on a pod, read and written. */
#include "volcano.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_read.h"
#include "pod.h"
#include "pod_request.h"
#include "resource.h"
#include "str.h"

/* The part of a text up to a mark, or all of it. */
struct span {
        const char *at;
        size_t length;
};

/* Cuts the next part off; false: there is none. A mark at the very end begins no further part. */
static bool span_next(struct span *remainder, char mark, struct span *ret_part)
{
        const char *end;

        if (remainder->length == 0)
                return false;
        end = memchr(remainder->at, mark, remainder->length);
        *ret_part = (struct span){ remainder->at,
                                   end ? (size_t)(end - remainder->at) : remainder->length };
        const size_t taken = ret_part->length + (end ? 1 : 0);

        *remainder = (struct span){ remainder->at + taken, remainder->length - taken };
        return true;
}

static bool span_number(struct span span, uint64_t most, uint64_t *ret_number)
{
        uint64_t number = 0;

        if (span.length == 0 || span.length > 12)
                return false;
        for (size_t i = 0; i < span.length; i++) {
                if (span.at[i] < '0' || span.at[i] > '9')
                        return false;
                number = number * 10 + (uint64_t)(span.at[i] - '0');
        }
        *ret_number = number;
        return number <= most;
}

/* "UUID,TYPE,MIB,CORES" */
static bool device_take(struct span device, const char *container, struct vec *parts)
{
        struct allocation_part part = { 0 };
        struct span fields[4], none;
        uint64_t cores;

        for (unsigned i = 0; i < 4; i++)
                if (!span_next(&device, ',', &fields[i]))
                        return false;
        if (span_next(&device, ',', &none) || fields[0].length == 0 ||
            fields[0].length >= sizeof part.uuid ||
            !span_number(fields[2], UINT64_C(1) << 40, &part.memory_mib) ||
            !span_number(fields[3], 100, &cores) || part.memory_mib == 0)
                return false;
        memcpy(part.uuid, fields[0].at, fields[0].length);
        part.cores = (uint32_t)cores;
        str_copy(part.container, sizeof part.container, container);
        for (size_t i = 0; i < parts->count; i++) {
                const struct allocation_part *other = vec_at(parts, i);

                if (strcmp(other->container, part.container) == 0 &&
                    strcmp(other->uuid, part.uuid) == 0)
                        return false; /* N GPUs are N distinct ones */
        }
        return vec_push(parts, &part) == 0;
}

/* Does Volcano's scheduler decide for this container? It looks at limits alone. */
static bool container_uses_volcano(const json_t *container)
{
        const json_t *limits = json_object_get(json_object_get(container, "resources"), "limits");

        return json_object_get(limits, resource_name(RESOURCE_VOLCANO, RESOURCE_COUNT)) ||
               json_object_get(limits, resource_name(RESOURCE_VOLCANO, RESOURCE_MEMORY));
}

static int container_take(const json_t *container, struct span *text, struct vec *parts,
                          struct err *e)
{
        const char *name = pod_request_name(container);
        const size_t before = parts->count;
        struct span devices = { 0 }, device;
        struct request request;

        if (strlen(name) >= ALLOCATION_NAME || pod_request_read(container, false, &request, e) < 0)
                return -EPROTO;
        span_next(text, ';', &devices);
        while (span_next(&devices, ':', &device))
                if (!device_take(device, name, parts))
                        return err_set(e, -EPROTO, "'%.*s' is not a GPU allocated by Volcano",
                                       (int)(device.length > 100 ? 100 : device.length), device.at);
        if (parts->count - before != request.values[RESOURCE_COUNT])
                return err_set(e, -EPROTO,
                               "Volcano allocated %zu GPUs to container '%s'; it requests %" PRIu64,
                               parts->count - before, name, request.values[RESOURCE_COUNT]);
        return 0;
}

static int containers_take(json_t *spec, const char *text, struct vec *parts, struct err *e)
{
        struct pod_walk walk = { .spec = spec, .path = "" };
        struct span remainder = { text, strlen(text) };

        while (pod_walk_next(&walk)) {
                if (walk.phase != POD_APP || !container_uses_volcano(walk.container))
                        continue;
                const int r = container_take(walk.container, &remainder, parts, e);

                if (r < 0)
                        return r;
        }
        return remainder.length == 0
                       ? 0
                       : err_set(e, -EPROTO,
                                 "Volcano allocated GPUs to more containers than the pod has");
}

int volcano_decision_read(const json_t *pod, struct allocation *ret_allocation, struct err *e)
{
        const json_t *metadata = json_object_get(pod, "metadata");
        const json_t *annotations = json_object_get(metadata, "annotations");
        const char *uid = json_read_text(metadata, "uid"),
                   *node = json_read_text(annotations, VOLCANO_NODE);
        const char *text = json_read_text(annotations, VOLCANO_DECISION);
        int r;

        *ret_allocation = (struct allocation){ .parts = VEC_OF(struct allocation_part) };
        if (!*text)
                return -ENOENT;
        if (strlen(uid) >= sizeof ret_allocation->pod_uid ||
            strlen(node) >= sizeof ret_allocation->node)
                return err_set(e, -EPROTO, "the pod's uid or node is too long");
        str_copy(ret_allocation->pod_uid, sizeof ret_allocation->pod_uid, uid);
        str_copy(ret_allocation->node, sizeof ret_allocation->node, node);
        r = containers_take(json_object_get(pod, "spec"), text, &ret_allocation->parts, e);
        if (r < 0)
                allocation_done(ret_allocation);
        return r;
}

char *volcano_decision_format(const struct allocation *allocation)
{
        char *text = NULL;
        size_t bytes;
        FILE *stream = open_memstream(&text, &bytes);

        if (!stream)
                return NULL;
        for (size_t i = 0; i < allocation->parts.count; i++) {
                const struct allocation_part *part = vec_at(&allocation->parts, i);
                const struct allocation_part *before =
                        i > 0 ? vec_at(&allocation->parts, i - 1) : part;

                fprintf(stream, "%s%s,NVIDIA,%" PRIu64 ",%u:",
                        strcmp(before->container, part->container) != 0 ? ";" : "", part->uuid,
                        part->memory_mib, part->cores);
        }
        return fclose(stream) == 0 ? text : (free(text), NULL);
}
