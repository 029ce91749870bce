/* SPDX-License-Identifier: Apache-2.0 */
/* User objects: counted references that graphs keep on a program's resources. */
#include <stdatomic.h>
#include <stdlib.h>

#include "graph.h"

#define OBJECT_MAGIC UINT32_C(0x6a626f75)

struct user_object {
        uint32_t magic;
        _Atomic unsigned references;
        CUhostFn destroy;
        void *user;
};

static struct user_object *object_get(CUuserObject handle)
{
        struct user_object *object = (struct user_object *)handle;

        return object && object->magic == OBJECT_MAGIC ? object : NULL;
}

void user_object_retain(struct user_object *object, unsigned count)
{
        atomic_fetch_add(&object->references, count);
}

void user_object_release(struct user_object *object, unsigned count)
{
        if (atomic_fetch_sub(&object->references, count) != count)
                return;
        object->destroy(object->user);
        object->magic = 0;
        free(object);
}

CUresult sim_cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                                unsigned int initialRefcount, unsigned int flags)
{
        struct user_object *object;

        if (!object_out || !destroy || !initialRefcount || initialRefcount > INT32_MAX ||
            flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
                return CUDA_ERROR_INVALID_VALUE;
        object = malloc(sizeof *object);
        if (!object)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *object = (struct user_object){ OBJECT_MAGIC, initialRefcount, destroy, ptr };
        *object_out = (CUuserObject)object;
        return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
        struct user_object *found = object_get(object);

        if (!found || !count || count > INT32_MAX)
                return CUDA_ERROR_INVALID_VALUE;
        user_object_retain(found, count);
        return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
        struct user_object *found = object_get(object);

        if (!found || !count || count > atomic_load(&found->references))
                return CUDA_ERROR_INVALID_VALUE;
        user_object_release(found, count);
        return CUDA_SUCCESS;
}

static struct graph_object *graph_object(const struct graph *graph,
                                         const struct user_object *object)
{
        for (size_t i = 0; i < graph->objects.count; i++) {
                struct graph_object *found = vec_at(&graph->objects, i);

                if (found->object == object)
                        return found;
        }
        return NULL;
}

CUresult sim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                     unsigned int flags)
{
        struct user_object *found = object_get(object);
        struct graph *into = graph_get(graph);
        struct graph_object *held;

        if (!into || !found || !count || count > INT32_MAX ||
            (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE))
                return CUDA_ERROR_INVALID_VALUE;
        held = graph_object(into, found);
        if (held)
                held->count += count;
        else if (vec_push(&into->objects, &(struct graph_object){ found, count }) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
                user_object_retain(found, count);
        return CUDA_SUCCESS;
}

CUresult sim_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
        struct user_object *found = object_get(object);
        struct graph *from = graph_get(graph);
        struct graph_object *held = from && found ? graph_object(from, found) : NULL;

        if (!held || !count || held->count < count)
                return CUDA_ERROR_INVALID_VALUE;
        held->count -= count;
        if (!held->count)
                vec_remove(&from->objects,
                           (size_t)(held - (struct graph_object *)from->objects.items));
        user_object_release(found, count);
        return CUDA_SUCCESS;
}
