/* SPDX-License-Identifier: Apache-2.0 */
/* Textures and surfaces: what kernels read through a handle. */
#pragma once

#include "array.h"
#include "cuda_image_types.h"
#include "ptx.h"

#define TEXTURE_MAGIC UINT32_C(0x78657476)

/* A texture or surface object, or a reference of a module (a CUtexref or CUsurfref). */
struct texture {
        uint32_t magic;
        bool is_surface, is_reference, has_view, is_bound;
        uint64_t handle; /* what the kernel has */
        CUDA_RESOURCE_DESC resource;
        CUDA_TEXTURE_DESC sampling;
        CUDA_RESOURCE_VIEW_DESC view;
        unsigned flags;        /* of a reference: CU_TRSF_* */
        CUarray_format format; /* of a reference */
        int channels;
};

/* A new one with a handle; NULL: no memory, or too many. */
struct texture *texture_new(bool is_surface, bool is_reference);
void texture_free(struct texture *texture);
/* NULL: nothing has the handle. Callable from any thread, without a lock. */
struct texture *texture_at(uint64_t handle);

/* For the interpreter. */
extern const struct ptx_images texture_images;
