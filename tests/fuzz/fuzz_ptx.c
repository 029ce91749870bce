/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: PTX text, and, within a small budget, the kernels of what the parser accepts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "fuzz.h"
#include "ptx.h"

const char *const fuzz_words[] = { ".version 8.0\n.target sm_80\n.address_size 64\n",
                                   ".visible .entry k(.param .u64 a) {",
                                   ".func (.param .b32 r) f(.param .b32 a) {",
                                   ".reg .b32 %r<8>;",
                                   ".reg .pred %p<4>;",
                                   ".reg .b64 %rd<4>;",
                                   ".shared .align 16 .b8 s[64];",
                                   ".local .b8 l[64];",
                                   "@%p1 ",
                                   "@!%p2 ",
                                   "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd1+16];",
                                   "st.shared.u32 [s], %r1;",
                                   "mov.u32 %r1, %tid.x;",
                                   "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;",
                                   "call (r), f, (a);",
                                   "bar.sync 0;",
                                   "ret;",
                                   "}",
                                   "brx.idx %r1, t;",
                                   "t: .branchtargets a, b;",
                                   "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, %r4, -1;",
                                   "atom.global.add.u32 %r1, [%rd1], %r2;",
                                   "cvt.rzi.s32.f32 ",
                                   "mad.wide.s32 ",
                                   "0x7fffffff",
                                   "0f3F800000",
                                   "0d3FF0000000000000",
                                   "-1",
                                   "99999999999999999999",
                                   "%r1",
                                   "%p1",
                                   "%rd1",
                                   NULL };

static unsigned char memory[1 << 16];

static void *resolve(void *closure, uint64_t address, size_t length, bool is_write,
                     uint64_t *ret_lo, uint64_t *ret_hi)
{
        const uint64_t base = UINT64_C(0x10000);

        (void)closure, (void)is_write;
        if (address < base || address + length > base + sizeof memory)
                return NULL;
        *ret_lo = base;
        *ret_hi = base + sizeof memory;
        return memory + (address - base);
}

static void kernel_run(const struct ptx_kernel *kernel)
{
        static const uint64_t params[32] = { 0x10000, 0x12000, 0x14000, 16 };
        struct ptx_memory reach = { .resolve = resolve };
        struct ptx_launch launch = { .kernel = kernel,
                                     .grid = { 2, 1, 1 },
                                     .block = { 40, 1, 1 },
                                     .dynamic_shared_bytes = 256,
                                     .params = params,
                                     .params_size = sizeof params,
                                     .memory = &reach,
                                     .budget_instructions = 20000,
                                     .workers = 1 };
        struct ptx_outcome outcome;

        (void)ptx_launch(&launch, &outcome);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        struct ptx_module *module;
        struct err e;

        if (ptx_module_new((const char *)bytes, count, &module, &e) < 0)
                return;
        for (size_t n = 0; n < ptx_module_variable_count(module); n++) {
                const struct ptx_variable *v = ptx_module_variable(module, n);
                void *initial = v->size < (1u << 20) ? malloc(v->size + 1) : NULL;

                ptx_module_set_address(module, n, 0x10000 + 256 * (n % 64));
                if (initial)
                        ptx_module_write_initial(module, n, initial);
                free(initial);
        }
        for (size_t n = 0; n < ptx_module_kernel_count(module) && n < 8; n++)
                if (ptx_kernel_footprint(ptx_module_kernel(module, n))->is_runnable &&
                    ptx_kernel_footprint(ptx_module_kernel(module, n))->local_bytes < (1u << 16))
                        kernel_run(ptx_module_kernel(module, n));
        ptx_module_free(module);
}
