/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program comes from: the PTX texts and the machine code of its image. */
#pragma once

#include "cuda_prototypes.h"
#include "err.h"
#include "program_content.h"

struct machine_gpu;
struct ptx_module;
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

/* A parsed PTX module of one's own, NULL in *ret_ptx when the program has no PTX; give it back. */
CUresult program_take_ptx(struct program *program, struct ptx_module **ret_ptx);
void program_give_ptx(struct program *program, struct ptx_module *ptx);
