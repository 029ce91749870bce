/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: images that a program loads as a module: PTX, fat binaries, linked containers. What
 * is accepted must be whole: names, parameters within their bytes, registers that are not 0. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "getproc.h"
#include "preset.h"
#include "program.h"
#include "program_source.h"
#include "ptx.h"

const char *const fuzz_words[] = { ".version 7.0\n",
                                   ".target sm_52\n",
                                   ".address_size 64\n",
                                   ".visible .entry k(",
                                   ") {",
                                   ".param .u64 p",
                                   ".global .align 4 .u32 v",
                                   " = {1, 2};\n",
                                   "ret;\n}\n",
                                   ".extern ",
                                   "\x7fVGPULNK\x01",
                                   "\x7f"
                                   "ELF\x02\x01\x01\x33",
                                   "\x50\xed\x55\xba\x01",
                                   "\xb1\x43\x62\x46\x01",
                                   NULL };

/* The loader asks the driver which PTX it takes. */
unsigned driver_version(void)
{
        return 13000;
}

static void kernels_check(const struct program *program)
{
        for (size_t i = 0; i < program->kernel_count; i++) {
                const struct program_kernel *kernel = &program->kernels[i];

                if (kernel->registers == 0 || program_kernel(program, kernel->name) == NULL)
                        abort();
                for (unsigned k = 0; k < kernel->parameter_count; k++)
                        if (kernel->parameters[k].offset + kernel->parameters[k].size >
                            kernel->parameter_bytes)
                                abort();
        }
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        struct program *program = NULL;
        struct ptx_module *ptx = NULL;
        struct err e = { 0 };

        if (count == 0)
                return;
        if (program_new(bytes, count, &preset_find("h100-80gb")->gpu, &program, &e) !=
            CUDA_SUCCESS) {
                if (!e.text[0])
                        abort();
                return;
        }
        kernels_check(program);
        for (size_t i = 0; i < program->variable_count; i++)
                if (!program_variable(program, program->variables[i].name))
                        abort();
        if (program_take_ptx(program, &ptx) == CUDA_SUCCESS)
                program_give_ptx(program, ptx);
        program_unref(program);
}
