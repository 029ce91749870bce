/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: made of an image, counted, and freed. */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fd.h"
#include "program_source.h"
#include "scope.h"

static void program_free(struct program *program)
{
        if (program->managed_done)
                program->managed_done(program);
        program_content_done(program);
        program_source_free(program->source);
        free(program);
}

struct program *program_ref(struct program *program)
{
        atomic_fetch_add(&program->references, 1);
        return program;
}

void program_unref(struct program *program)
{
        if (program && atomic_fetch_sub(&program->references, 1) == 1)
                program_free(program);
}

CUresult program_new(const void *image, size_t bytes, const struct machine_gpu *gpu,
                     struct program **ret_program, struct err *e)
{
        struct program *program = calloc(1, sizeof *program);
        struct ptx_module *ptx = NULL;

        if (!program)
                return CUDA_ERROR_OUT_OF_MEMORY;
        program->references = 1;
        program->source = program_source_new();

        CUresult r = program->source ? program_source_read(program->source, image, bytes, gpu, e)
                                     : CUDA_ERROR_OUT_OF_MEMORY;

        if (r == CUDA_SUCCESS)
                r = program_source_parse(program->source, gpu, &ptx, e);
        if (r == CUDA_SUCCESS && ptx && program_add_ptx(program, ptx) < 0)
                r = CUDA_ERROR_OUT_OF_MEMORY;
        if (r == CUDA_SUCCESS && program_source_gather(program->source, program) < 0)
                r = CUDA_ERROR_OUT_OF_MEMORY;
        if (program->source)
                program_give_ptx(program, ptx);
        if (r != CUDA_SUCCESS) {
                program_free(program);
                return r;
        }
        program_content_finish(program);
        *ret_program = program;
        return CUDA_SUCCESS;
}

CUresult program_read(const char *path, char **ret_image, size_t *ret_bytes)
{
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return CUDA_ERROR_FILE_NOT_FOUND;

        int r = fd_read_all(fd, ret_image, ret_bytes);

        if (r == -ENOMEM)
                return CUDA_ERROR_OUT_OF_MEMORY;
        if (r < 0)
                return CUDA_ERROR_FILE_NOT_FOUND;
        if (*ret_bytes > 0)
                return CUDA_SUCCESS;
        free(*ret_image);
        *ret_image = NULL;
        return CUDA_ERROR_INVALID_IMAGE;
}
