/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program comes from: the PTX texts and the machine code of its image. */
#pragma once

#include "program.h"

struct fatbin_kernel;
struct fatbin_variable;
struct program_source;

struct program_source *program_source_new(void);         /* NULL: no memory */
void program_source_free(struct program_source *source); /* NULL is fine */

/* Takes the image apart; copies what is needed later. */
CUresult program_source_read(struct program_source *source, const void *image, size_t bytes,
                             const struct machine_gpu *gpu, struct err *e);
/* Parses the PTX of all parts together. NULL in *ret_ptx: there is none. NO_BINARY_FOR_GPU: it is
 * for a newer device. */
CUresult program_source_parse(struct program_source *source, const struct machine_gpu *gpu,
                              struct ptx_module **ret_ptx, struct err *e);
/* Adds to the program what the machine code has and the PTX has not. -ENOMEM. */
int program_source_gather(struct program_source *source, struct program *program);

/* The program's side of it. -ENOMEM. */
int program_add_kernel(struct program *program, const struct fatbin_kernel *binary);
int program_add_variable(struct program *program, const struct fatbin_variable *binary);
