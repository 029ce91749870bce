/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts as objects: listed, found by handle, current in threads. */
#include "context.h"

#include <stdlib.h>

#include "kernel_print.h"

enum { STACK_DEPTH = 64 };

static _Thread_local struct {
        struct context *contexts[STACK_DEPTH];
        unsigned depth;
} context_stack;

static struct context *context_list; /* guarded by driver.lock */

struct context *context_current(void)
{
        return context_stack.depth ? context_stack.contexts[context_stack.depth - 1] : NULL;
}

CUresult context_need(struct context **ret_context)
{
        struct context *context = context_current();

        if (!context)
                return CUDA_ERROR_INVALID_CONTEXT;
        if (!context->is_active)
                return CUDA_ERROR_CONTEXT_IS_DESTROYED;
        int error = atomic_load_explicit(&context->error, memory_order_acquire);
        if (error) {
                /* The call that reports a failed assertion shows its text. */
                kernel_print_flush();
                return (CUresult)error;
        }
        *ret_context = context;
        return CUDA_SUCCESS;
}

struct context *context_get(CUcontext handle)
{
        struct context *found = NULL;

        pthread_mutex_lock(&driver.lock);
        for (struct context *c = context_list; c && !found; c = c->next)
                if (c == (struct context *)handle && c->magic == CONTEXT_MAGIC)
                        found = c;
        pthread_mutex_unlock(&driver.lock);
        return found;
}

CUresult context_push(struct context *context)
{
        if (context_stack.depth == STACK_DEPTH)
                return CUDA_ERROR_INVALID_VALUE;
        context_stack.contexts[context_stack.depth++] = context;
        return CUDA_SUCCESS;
}

CUresult context_pop(struct context **ret_context)
{
        if (!context_stack.depth)
                return CUDA_ERROR_INVALID_CONTEXT;
        *ret_context = context_stack.contexts[--context_stack.depth];
        return CUDA_SUCCESS;
}

void context_set_current(struct context *context)
{
        if (context_stack.depth)
                context_stack.depth--;
        if (context)
                context_stack.contexts[context_stack.depth++] = context;
}

struct context *context_alloc(struct device *device, unsigned flags)
{
        static _Atomic uint64_t number;
        struct context *context = calloc(1, sizeof *context);

        if (!context)
                return NULL;
        context->magic = CONTEXT_MAGIC;
        context->device = device;
        context->flags = flags;
        context->number = atomic_fetch_add(&number, 1) + 1;
        context->sm_count = device_unit(device)->sm_count;
        context->api_version = 3020;
        pthread_mutex_lock(&driver.lock);
        context->next = context_list;
        context_list = context;
        pthread_mutex_unlock(&driver.lock);
        return context;
}

void context_unlist(struct context *context)
{
        pthread_mutex_lock(&driver.lock);
        for (struct context **link = &context_list; *link; link = &(*link)->next) {
                if (*link == context) {
                        *link = context->next;
                        break;
                }
        }
        pthread_mutex_unlock(&driver.lock);
}
