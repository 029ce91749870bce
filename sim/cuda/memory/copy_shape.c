/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of a copy: checked, and the bytes moved row by row. */
#include "copy_shape.h"

#include "array.h"
#include "managed.h"
#include "resolve.h"

#define PITCH_MAX UINT64_C(0x7fffffff)

/* One end as the caller describes it. */
struct end {
        CUmemorytype type;
        const void *host;
        CUdeviceptr device;
        CUarray array;
        size_t x, y, z, lod, pitch, height;
};

bool range_is_known(CUdeviceptr address, size_t count)
{
        struct span span;

        while (count) {
                if (!resolve_span(address, count, &span))
                        return false;
                address += span.count;
                count -= span.count;
        }
        return true;
}

/* Bytes from the first to the last byte, or SIZE_MAX. */
static size_t side_extent(const struct side *side, const struct shape *shape)
{
        size_t planes, rows, total;

        if (__builtin_mul_overflow(shape->planes - 1, side->slice, &planes) ||
            __builtin_mul_overflow(shape->rows - 1, side->pitch, &rows) ||
            __builtin_add_overflow(planes, rows, &total) ||
            __builtin_add_overflow(total, shape->width, &total))
                return SIZE_MAX;
        return total;
}

static CUresult side_of_array(const struct end *end, const struct shape *shape, struct side *side)
{
        struct array *array = array_get(end->array);

        if (!array)
                return CUDA_ERROR_INVALID_HANDLE;
        size_t width = array->descriptor.Width * array->element_bytes;
        if (end->lod || end->x > width || shape->width > width - end->x || end->y > array->rows ||
            shape->rows > array->rows - end->y || end->z > array->planes ||
            shape->planes > array->planes - end->z)
                return CUDA_ERROR_INVALID_VALUE;
        side->kind = SIDE_DEVICE;
        side->device = array->allocation->device;
        side->array = array->allocation;
        side->pitch = array->pitch;
        side->slice = array->pitch * array->rows;
        side->address = array->offset + end->z * side->slice + end->y * side->pitch + end->x;
        return CUDA_SUCCESS;
}

static void side_classify(struct side *side, size_t extent)
{
        struct allocation *allocation = memory_find(side->address);

        side->kind = SIDE_PAGEABLE;
        if (!allocation)
                return;
        bool is_there = allocation->kind == MEMORY_MANAGED
                                ? managed_is_resident(allocation, side->address, extent)
                                : !memory_is_on_host(allocation);
        side->kind = is_there ? SIDE_DEVICE : SIDE_PINNED;
        side->device = allocation->device;
}

static CUresult side_of_pointer(const struct end *end, const struct shape *shape, struct side *side)
{
        uint64_t base = end->type == CU_MEMORYTYPE_HOST ? (uintptr_t)end->host : end->device;
        size_t offset, extent;

        side->pitch = end->pitch ? end->pitch : end->x + shape->width;
        if ((shape->rows > 1 || shape->planes > 1) &&
            (side->pitch < shape->width || side->pitch - shape->width < end->x))
                return CUDA_ERROR_INVALID_VALUE;
        if (side->pitch > PITCH_MAX && shape->rows > 1)
                return CUDA_ERROR_INVALID_VALUE;
        size_t height = end->height ? end->height : end->y + shape->rows;
        if (shape->planes > 1 && height < end->y + shape->rows)
                return CUDA_ERROR_INVALID_VALUE;
        if (__builtin_mul_overflow(side->pitch, height, &side->slice) ||
            __builtin_mul_overflow(end->z, side->slice, &offset))
                return CUDA_ERROR_INVALID_VALUE;
        side->address = base + offset + end->y * side->pitch + end->x;
        extent = side_extent(side, shape);
        if (!base || extent > UINT64_MAX - side->address)
                return CUDA_ERROR_INVALID_VALUE;
        side_classify(side, extent);
        bool is_known = side->kind != SIDE_PAGEABLE || range_is_known(side->address, 1);
        if (is_known ? !range_is_known(side->address, extent) : end->type == CU_MEMORYTYPE_DEVICE)
                return CUDA_ERROR_INVALID_VALUE;
        if (is_known && side->kind == SIDE_PAGEABLE)
                side->kind = SIDE_DEVICE;
        return CUDA_SUCCESS;
}

static CUresult side_of(const struct end *end, const struct shape *shape, struct side *side)
{
        switch (end->type) {
        case CU_MEMORYTYPE_ARRAY:
                return side_of_array(end, shape, side);
        case CU_MEMORYTYPE_HOST:
        case CU_MEMORYTYPE_DEVICE:
        case CU_MEMORYTYPE_UNIFIED:
                return side_of_pointer(end, shape, side);
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

CUresult shape_of(const CUDA_MEMCPY3D_PEER *copy, struct shape *ret_shape)
{
        struct shape shape = {
                .width = copy->WidthInBytes,
                .rows = copy->Height,
                .planes = copy->Depth,
        };
        struct end from = {
                copy->srcMemoryType, copy->srcHost,   copy->srcDevice, copy->srcArray,
                copy->srcXInBytes,   copy->srcY,      copy->srcZ,      copy->srcLOD,
                copy->srcPitch,      copy->srcHeight,
        };
        struct end to = {
                copy->dstMemoryType, copy->dstHost,   copy->dstDevice, copy->dstArray,
                copy->dstXInBytes,   copy->dstY,      copy->dstZ,      copy->dstLOD,
                copy->dstPitch,      copy->dstHeight,
        };

        *ret_shape = shape;
        if (!shape.width || !shape.rows || !shape.planes)
                return CUDA_SUCCESS;
        CUresult r = side_of(&from, &shape, &shape.from);
        if (r == CUDA_SUCCESS)
                r = side_of(&to, &shape, &shape.to);
        if (r == CUDA_SUCCESS)
                *ret_shape = shape;
        return r;
}

/* The view at an address of a side; false: nothing is there any more. */
static bool side_span(const struct side *side, uint64_t address, size_t count,
                      struct span *ret_span)
{
        if (side->array) {
                ret_span->view = allocation_view(side->array, side->array->base + address);
                ret_span->count = count;
                return true;
        }
        if (side->kind == SIDE_PAGEABLE) {
                ret_span->view = (struct view){ .bytes = (char *)(uintptr_t)address };
                ret_span->count = count;
                return true;
        }
        return resolve_span(address, count, ret_span);
}

static CUresult row_copy(const struct shape *shape, uint64_t to, uint64_t from, size_t count)
{
        struct span source, target;

        while (count) {
                if (!side_span(&shape->from, from, count, &source) ||
                    !side_span(&shape->to, to, source.count, &target))
                        return CUDA_ERROR_ILLEGAL_ADDRESS;
                contents_copy(target.view, source.view, target.count);
                to += target.count;
                from += target.count;
                count -= target.count;
        }
        return CUDA_SUCCESS;
}

/* Rows that follow each other without a gap on both ends are one row. */
static void shape_flatten(struct shape *shape)
{
        if (shape->rows > 1 && shape->from.pitch == shape->width &&
            shape->to.pitch == shape->width) {
                shape->width *= shape->rows;
                shape->rows = 1;
        }
        if (shape->planes > 1 && shape->rows == 1 && shape->from.slice == shape->width &&
            shape->to.slice == shape->width) {
                shape->width *= shape->planes;
                shape->planes = 1;
        }
}

CUresult shape_copy(const struct shape *given)
{
        struct shape shape = *given;
        CUresult r = CUDA_SUCCESS;

        shape_flatten(&shape);
        for (size_t z = 0; z < shape.planes; z++)
                for (size_t y = 0; r == CUDA_SUCCESS && y < shape.rows; y++)
                        r = row_copy(
                                &shape, shape.to.address + z * shape.to.slice + y * shape.to.pitch,
                                shape.from.address + z * shape.from.slice + y * shape.from.pitch,
                                shape.width);
        return r;
}
