/* Where a program comes from: the PTX texts and the machine code of its image. */
#pragma once

#include "program.h"

struct program_source;

/* A kernel as machine code describes it. */
struct program_binary {
        const char *name;
        unsigned registers, shared_bytes, local_bytes, max_threads;
        unsigned parameter_count;
        size_t parameter_bytes;
        const struct function_parameter *parameters;
};

struct program_source *program_source_new(void);        /* NULL: no memory */
void program_source_free(struct program_source *source); /* NULL is fine */

/* Takes the image apart; copies what is needed later. */
CUresult program_source_read(struct program_source *source, const void *image, size_t bytes,
                             const struct machine_gpu *gpu, struct err *e);
/* Parses the PTX of all parts together. NULL in *ret_ptx: there is none. NO_BINARY_FOR_GPU: it is
 * for a newer device. */
CUresult program_source_parse(struct program_source *source, const struct machine_gpu *gpu,
                              struct ptx_module **ret_ptx, struct err *e);
/* Adds the kernels of the machine code to the program: -ENOMEM. */
int program_source_add_binaries(struct program_source *source, struct program *program);

int program_add_binary(struct program *program, const struct program_binary *binary);
