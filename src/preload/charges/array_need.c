/* SPDX-License-Identifier: Apache-2.0 */
/* array_need: every kind of descriptor is turned into the newest. */
#include "array_need.h"

#include <stdbool.h>

enum { ROW_BYTES = 512 };

static uint64_t element_bytes(CUarray_format format, unsigned channels)
{
        static const unsigned char packed[] = { 1, 2, 4, 2, 4, 8, 1, 2, 4, 2, 4, 8 };

        switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
                return channels;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
                return 2ull * channels;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
                return 4ull * channels;
        default:
                return format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4
                               ? packed[format - CU_AD_FORMAT_UNORM_INT8X1]
                               : 0;
        }
}

static uint64_t halved(uint64_t length, unsigned level)
{
        length = level < 64 ? length >> level : 0;
        return length ? length : 1;
}

/* False: more than any GPU has. */
static bool level_add(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned level, uint64_t *total)
{
        bool is_volume = !(shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP));
        uint64_t planes = is_volume ? halved(shape->Depth, level) : halved(shape->Depth, 0);
        uint64_t row, bytes;

        if (__builtin_mul_overflow(halved(shape->Width, level),
                                   element_bytes(shape->Format, shape->NumChannels), &row) ||
            row > UINT64_MAX - ROW_BYTES)
                return false;
        row = (row + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
        return !__builtin_mul_overflow(row, halved(shape->Height, level), &bytes) &&
               !__builtin_mul_overflow(bytes, planes, &bytes) &&
               !__builtin_add_overflow(*total, bytes, total);
}

uint64_t array_need(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels)
{
        uint64_t total = 0;

        if (!shape || !shape->Width || !element_bytes(shape->Format, shape->NumChannels) ||
            shape->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
                return 0;
        for (unsigned i = 0; i < levels && i < 64; i++)
                if (!level_add(shape, i, &total))
                        return UINT64_MAX;
        return gate_memory_granules(total);
}

uint64_t array_need_v1(const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape)
{
        if (!shape)
                return 0;
        CUDA_ARRAY3D_DESCRIPTOR newest = { .Width = shape->Width,
                                           .Height = shape->Height,
                                           .Depth = shape->Depth,
                                           .Format = shape->Format,
                                           .NumChannels = shape->NumChannels,
                                           .Flags = shape->Flags };
        return array_need(&newest, 1);
}

uint64_t array_need_flat(const CUDA_ARRAY_DESCRIPTOR *shape)
{
        if (!shape)
                return 0;
        CUDA_ARRAY3D_DESCRIPTOR newest = { .Width = shape->Width,
                                           .Height = shape->Height,
                                           .Format = shape->Format,
                                           .NumChannels = shape->NumChannels };
        return array_need(&newest, 1);
}

uint64_t array_need_flat_v1(const CUDA_ARRAY_DESCRIPTOR_v1 *shape)
{
        if (!shape)
                return 0;
        CUDA_ARRAY_DESCRIPTOR newest = { .Width = shape->Width,
                                         .Height = shape->Height,
                                         .Format = shape->Format,
                                         .NumChannels = shape->NumChannels };
        return array_need_flat(&newest);
}
