/* SPDX-License-Identifier: Apache-2.0 */
/* index: by name, what libvgpu.so knows of a driver function; the generator writes the rows. */
#pragma once

#include <stddef.h>

#define INDEX_NONE ((size_t)-1)

struct index_row {
        const char *name;
        void *shell;   /* what programs get instead; NULL: we only call it */
        size_t offset; /* of the real one in struct real_…; INDEX_NONE: refused */
};

extern const struct index_row index_cuda[], index_nvml[]; /* sorted by name */
extern const unsigned index_cuda_count, index_nvml_count;

/* NULL: not one of ours. Never touches the heap, works before anything is started. */
const struct index_row *index_find(const char *name);
