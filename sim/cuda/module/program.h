/* SPDX-License-Identifier: Apache-2.0 */
/* A program: what an image holds, before it is on any device. Modules and libraries share it. */
#pragma once

#include <stddef.h>

#include "cuda_prototypes.h"
#include "err.h"
#include "program_content.h"

struct machine_gpu;

/* Parses an image of any kind: PTX text, ELF, fat binary or its wrapper, or what cuLinkComplete
 * gave. INVALID_IMAGE, INVALID_PTX, OUT_OF_MEMORY …; the reason in *e. One reference is the
 * caller's. bytes 0: the length is not known, as in most calls. The image is not needed afterwards. */
CUresult program_new(const void *image, size_t bytes, const struct machine_gpu *gpu,
                     struct program **ret_program, struct err *e);
/* Reads an image file: FILE_NOT_FOUND … The caller frees *ret_image. */
CUresult program_read(const char *path, char **ret_image, size_t *ret_bytes);
struct program *program_ref(struct program *program);
void program_unref(struct program *program); /* NULL is fine */
