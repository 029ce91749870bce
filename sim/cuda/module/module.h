/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: an image on one context, with its functions and variables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context.h"
#include "function.h"
#include "jit.h"

struct program;
struct ptx_module;
struct library;
struct texture;

#define MODULE_MAGIC UINT32_C(0x646f6d76)

/* A variable, texture or surface reference of the module. */
struct module_variable {
        CUdeviceptr address;       /* of the bytes, or the handle of a reference */
        bool is_managed;           /* the program's */
        struct texture *reference; /* NULL: bytes */
};

struct module {
        uint32_t magic; /* 0 while in the pool */
        struct context *context;
        struct program *program;     /* counted */
        struct ptx_module *ptx;      /* this module's own: it knows the variables' addresses */
        struct library *library;     /* NULL: loaded as a module */
        const void *image;           /* where a runtime's image is; NULL: not known */
        struct function **functions; /* as the program's kernels */
        struct module_variable *variables; /* as the program's variables */
        CUdeviceptr block;                 /* code, then the variables that are not managed */
        struct module *next;               /* in the context, or in the pool */
};

/* NULL: `handle` is no living module. */
struct module *module_get(CUmodule handle);

/* Loads an image of any kind into the context; bytes 0: its length is not known. The image is not
 * needed afterwards. */
CUresult module_load(struct context *context, const void *image, size_t bytes, struct jit *jit,
                     struct module **ret_module);
/* The same for a program that is parsed already; takes its own reference. `library` and `jit` may be
 * NULL. */
CUresult module_new(struct context *context, struct program *program, struct library *library,
                    const struct jit *jit, struct module **ret_module);
/* Waits for the context's work, then gives everything back. */
void module_free(struct module *module);

/* NULL: no such function. */
struct function *module_find(const struct module *module, const char *name);
CUresult module_variable(const struct module *module, const char *name, CUdeviceptr *ret_address,
                         size_t *ret_bytes);
/* A texture or surface reference of the module; NULL: no such. */
struct texture *module_reference(const struct module *module, const char *name, bool is_surface);

/* The context goes, and is idle already: its modules are freed. After library_context_done(). */
void module_context_done(struct context *context);
