/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: primary, created, green; the stack of each thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

#define CONTEXT_MAGIC UINT32_C(0x78746376)

enum { CONTEXT_LIMITS = 16 };

struct stream;
struct module;
struct allocation;
struct holdings;

struct context {
        uint32_t magic; /* first: a handle that is no context is told apart */
        unsigned flags;
        struct device *device;
        bool is_active; /* false: a primary context that nobody has retained */
        bool is_primary;
        bool is_green;
        unsigned api_version;
        uint64_t number;   /* cuCtxGetId */
        _Atomic int error; /* sticky CUresult of a kernel that failed; 0: none */
        size_t limits[CONTEXT_LIMITS];
        uint64_t charged_bytes; /* what the context itself takes on the GPU */
        uint64_t limit_bytes;   /* what cuCtxSetLimit added to that */
        unsigned sm_count;      /* green: its share */
        unsigned cache_config;
        struct stream *legacy;  /* the NULL stream */
        struct stream *streams; /* all others; guarded by work.c */
        struct module *modules;
        struct holdings *holdings; /* memory.c: what it has allocated; NULL: nothing yet */
        uint64_t peers;            /* devices whose memory it may use, one bit each */
        struct context *next;
};

/* The thread's current context, or NULL. */
struct context *context_current(void);
/* The same, or the error a call returns without one: INVALID_CONTEXT, CONTEXT_IS_DESTROYED, or the
 * context's sticky error. */
CUresult context_need(struct context **ret_context);
/* NULL: `handle` is no living context. */
struct context *context_get(CUcontext handle);
CUresult context_push(struct context *context);
CUresult context_pop(struct context **ret_context);
void context_set_current(struct context *context);
/* An object without anything on the GPU. NULL: no memory. */
struct context *context_alloc(struct device *device, unsigned flags);
/* Takes it out of the list of living contexts. */
void context_unlist(struct context *context);
