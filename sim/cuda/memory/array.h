/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA arrays: bytes on the GPU in rows, with a format; known by handle. */
#pragma once

#include "cuda_image_types.h"
#include "memory_allocation.h"

#define ARRAY_MAGIC  UINT32_C(0x79617276)
#define MIPMAP_MAGIC UINT32_C(0x70696d76)

enum { MIPMAP_LEVELS = 32 };

struct array {
        uint32_t magic;
        CUDA_ARRAY3D_DESCRIPTOR descriptor;
        unsigned element_bytes;
        size_t pitch;        /* bytes of a row */
        size_t rows, planes; /* at least 1 */
        struct allocation *allocation;
        size_t offset; /* in it: levels of a mipmap share one allocation */
        struct context *context;
        bool is_level;      /* of a mipmap: gone with it */
        struct array *next; /* all arrays that are no levels */
};

struct mipmap {
        uint32_t magic;
        unsigned level_count;
        struct array levels[MIPMAP_LEVELS];
        struct mipmap *next;
};

/* NULL: `handle` is no array, no mipmap. */
struct array *array_get(CUarray handle);
struct mipmap *mipmap_get(CUmipmappedArray handle);
/* Bytes of one element of so many channels; 0: no such format. */
unsigned array_element_bytes(CUarray_format format, unsigned channels);
/* The context goes, and its arrays. */
void array_context_done(struct context *context);
