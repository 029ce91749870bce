/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_fixture: a small device for tests of the interpreter: memory, a module, a launch. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "ptx.h"
#include "unit.h"

#define BENCH_BASE UINT64_C(0x7f0000000000)

struct fixture {
        struct ptx_module *module;
        struct ptx_memory memory;
        struct ptx_launch launch;
        struct ptx_outcome outcome;
        unsigned char *bytes;
        size_t size, used;
        unsigned char params[256];
        size_t params_size, param_count;
        char printed[4096];
        size_t printed_length;
};

static void *fixture_resolve(void *closure, uint64_t address, size_t length, bool is_write,
                             uint64_t *ret_lo, uint64_t *ret_hi)
{
        struct fixture *b = closure;

        (void)is_write;
        if (address < BENCH_BASE || address + length > BENCH_BASE + b->size)
                return NULL;
        *ret_lo = BENCH_BASE;
        *ret_hi = BENCH_BASE + b->size;
        return b->bytes + (address - BENCH_BASE);
}

static uint64_t fixture_alloc(void *closure, uint64_t bytes)
{
        struct fixture *b = closure;
        uint64_t at =
                __atomic_fetch_add(&b->used, (bytes + 255) & ~UINT64_C(255), __ATOMIC_RELAXED);

        return at + bytes > b->size ? 0 : BENCH_BASE + at;
}

static void fixture_free(void *closure, uint64_t address)
{
        (void)closure, (void)address;
}

static void fixture_print(void *closure, const char *text, size_t length)
{
        struct fixture *b = closure;

        if (b->printed_length + length < sizeof b->printed) {
                memcpy(b->printed + b->printed_length, text, length);
                b->printed_length += length;
        }
}

/* Takes a module's text, places its variables. */
static void fixture_open_text(struct fixture *b, const char *text, size_t length)
{
        struct err e = { 0 };

        *b = (struct fixture){ .size = 64u << 20 };
        b->bytes = calloc(1, b->size);
        CHECK(b->bytes);
        b->memory = (struct ptx_memory){ fixture_resolve, fixture_alloc, fixture_free, b };
        if (ptx_module_new(text, length, &b->module, &e) < 0)
                fail_msg("%s", e.text);
        for (size_t n = 0; n < ptx_module_variable_count(b->module); n++)
                ptx_module_set_address(b->module, n,
                                       fixture_alloc(b, ptx_module_variable(b->module, n)->size));
        for (size_t n = 0; n < ptx_module_variable_count(b->module); n++) {
                const struct ptx_variable *v = ptx_module_variable(b->module, n);
                unsigned char *bytes = calloc(1, v->size + 1);

                ptx_module_write_initial(b->module, n, bytes);
                /* Variables were placed one after another, each from a multiple of 256. */
                size_t at = 0;
                for (size_t k = 0; k < n; k++)
                        at += (ptx_module_variable(b->module, k)->size + 255) & ~(size_t)255;
                memcpy(b->bytes + at, bytes, v->size);
                free(bytes);
        }
}

static inline void fixture_open(struct fixture *b, const char *file)
{
        char path[512];
        FILE *f;
        char *text = calloc(1, 4 << 20);
        size_t length;

        snprintf(path, sizeof path, "%s/%s", PTX_DATA, file);
        f = fopen(path, "rb");
        CHECK(f);
        length = fread(text, 1, 4 << 20, f);
        fclose(f);
        fixture_open_text(b, text, length);
        free(text);
}

static inline void fixture_close(struct fixture *b)
{
        ptx_module_free(b->module);
        free(b->bytes);
}

/* Device memory of `count` elements; *ret_address is what a kernel gets. */
static inline void *fixture_array(struct fixture *b, size_t bytes, uint64_t *ret_address)
{
        uint64_t address = fixture_alloc(b, bytes);

        CHECK(address);
        *ret_address = address;
        return b->bytes + (address - BENCH_BASE);
}

static inline void fixture_kernel(struct fixture *b, const char *name, unsigned grid,
                                  unsigned block)
{
        b->launch = (struct ptx_launch){ .kernel = ptx_kernel_find(b->module, name),
                                         .grid = { grid, 1, 1 },
                                         .block = { block, 1, 1 },
                                         .params = b->params,
                                         .memory = &b->memory,
                                         .print = fixture_print,
                                         .print_closure = b,
                                         .sm_count = 4,
                                         .clock_mhz = 1000 };
        if (!b->launch.kernel)
                fail_msg("no kernel '%s'", name);
        b->param_count = b->params_size = 0;
        b->printed_length = 0;
        memset(b->params, 0, sizeof b->params);
}

static inline void fixture_param(struct fixture *b, const void *value, size_t size)
{
        const struct ptx_param *p = ptx_kernel_param(b->launch.kernel, b->param_count++);

        CHECK(p);
        CHECK_EQ(p->size, size);
        memcpy(b->params + p->offset, value, size);
        b->params_size = p->offset + size;
}

static inline void fixture_param_u64(struct fixture *b, uint64_t value)
{
        fixture_param(b, &value, sizeof value);
}

static inline void fixture_param_s32(struct fixture *b, int32_t value)
{
        fixture_param(b, &value, sizeof value);
}

static inline enum ptx_status fixture_run(struct fixture *b)
{
        b->launch.params_size = b->params_size;
        CHECK_EQ(ptx_launch(&b->launch, &b->outcome), 0);
        return b->outcome.status;
}

static inline void fixture_done(struct fixture *b)
{
        if (fixture_run(b) != PTX_DONE)
                fail_msg("status %d: %s", b->outcome.status, b->outcome.reason);
}
