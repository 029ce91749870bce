/* SPDX-License-Identifier: Apache-2.0 */
/* Which share has this container? From the cache, on any replica. */
#include "allocations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocation_book.h"
#include "grpc_server.h"
#include "vgpu.pb-c.h"

enum { REQUEST_BYTES = 4096 };

struct allocations {
        struct state *state;
        struct grpc_server *grpc;
        struct allocation_book book;
};

/* One row per GPU; the caller frees both arrays. */
static size_t devices_fill(const struct allocation_entry *entry, Vgpu__V1__DeviceShare *rows,
                           Vgpu__V1__DeviceShare **pointers)
{
        size_t count = 0;

        for (size_t i = 0; i < entry->allocation.parts.count; i++) {
                struct allocation_part *part = vec_at(&entry->allocation.parts, i);

                if (strcmp(part->container, entry->container) != 0)
                        continue;
                vgpu__v1__device_share__init(&rows[count]);
                rows[count].uuid = part->uuid;
                rows[count].limit_bytes = part->memory_mib << 20;
                rows[count].cores_percent = part->cores;
                pointers[count] = &rows[count];
                count++;
        }
        return count;
}

static void answer(struct grpc_call *call, const struct allocation_entry *entry)
{
        const size_t most = entry->allocation.parts.count;
        Vgpu__V1__GetAllocationResponse response = VGPU__V1__GET_ALLOCATION_RESPONSE__INIT;
        Vgpu__V1__Share share = VGPU__V1__SHARE__INIT;
        Vgpu__V1__Container container = VGPU__V1__CONTAINER__INIT;
        Vgpu__V1__DeviceShare *rows = calloc(most, sizeof *rows);
        Vgpu__V1__DeviceShare **pointers = calloc(most, sizeof *pointers);

        if (rows && pointers) {
                container.pod_uid = (char *)entry->pod_uid;
                container.namespace_ = (char *)entry->namespace_name;
                container.pod = (char *)entry->pod;
                container.container = (char *)entry->container;
                share.container = &container;
                share.n_gpus = devices_fill(entry, rows, pointers);
                share.gpus = pointers;
                response.share = &share;
                grpc_answer(call, &response.base);
        } else {
                grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        }
        free(rows);
        free(pointers);
}

static void serve_get(void *owner, struct grpc_call *call, const ProtobufCMessage *message)
{
        struct allocations *allocations = owner;
        const Vgpu__V1__GetAllocationRequest *request =
                (const Vgpu__V1__GetAllocationRequest *)message;
        const Vgpu__V1__Container *container = request->container;
        struct allocation_entry entry;
        const struct allocation_which which = {
                .container_uuid = request->container_uuid,
                .pod_uid = container ? container->pod_uid : "",
                .namespace_name = container ? container->namespace_ : "",
                .pod = container ? container->pod : "",
                .container = container ? container->container : "",
        };
        const int r = allocation_book_find(&allocations->book, &which, &entry);

        if (r == -ENOENT || !state_is_synced(allocations->state)) {
                grpc_finish(call, GRPC_UNAVAILABLE, "the pod is not known, or not placed yet");
                if (r == 0)
                        allocation_done(&entry.allocation);
        } else if (r == -ENOMEM) {
                grpc_finish(call, GRPC_RESOURCE_EXHAUSTED, "out of memory");
        } else if (r < 0) {
                grpc_finish(call, GRPC_NOT_FOUND, "the container has no share");
        } else {
                answer(call, &entry);
                allocation_done(&entry.allocation);
        }
}

static const struct grpc_method methods[] = {
        { "/vgpu.v1.Allocations/Get", &vgpu__v1__get_allocation_request__descriptor, serve_get },
        { 0 },
};

static void on_placed(void *owner, const char *uid, const json_t *pod)
{
        struct allocations *allocations = owner;

        if (pod && allocation_book_note(&allocations->book, pod) < 0)
                state_repeat_pods(allocations->state);
        else if (!pod)
                allocation_book_forget(&allocations->book, uid);
}

int allocations_new(struct loop *loop, struct state *state, struct allocations **ret_allocations)
{
        struct allocations *allocations = calloc(1, sizeof *allocations);
        int r;

        if (!allocations)
                return -ENOMEM;
        allocations->state = state;
        r = grpc_server_new(loop, &(struct http_limits){ .body_bytes = REQUEST_BYTES }, methods,
                            allocations, &allocations->grpc);
        if (r < 0) {
                free(allocations);
                return r;
        }
        state_on_placed(state, on_placed, allocations);
        *ret_allocations = allocations;
        return 0;
}

int allocations_listen(struct allocations *allocations, const struct address *address,
                       struct tls_context *tls, struct err *e)
{
        return grpc_server_listen(allocations->grpc, address, 0, tls, e);
}

unsigned allocations_port(const struct allocations *allocations)
{
        return grpc_server_port(allocations->grpc);
}

void allocations_free(struct allocations *allocations)
{
        if (!allocations)
                return;
        state_on_placed(allocations->state, NULL, NULL);
        grpc_server_free(allocations->grpc);
        allocation_book_done(&allocations->book);
        free(allocations);
}
