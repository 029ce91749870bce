/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA arrays and mipmaps: create, destroy, describe. */
#include "array.h"

#include <pthread.h>
#include <stdlib.h>

#include "capture.h"
#include "heap.h"
#include "holdings.h"
#include "pool.h"
#include "sim_cuda.h"

#define ROW_ALIGN   UINT64_C(32)
#define LEVEL_ALIGN UINT64_C(512)
#define TILE_BYTES  65536u

static struct {
        pthread_mutex_t lock;
        struct array *arrays;
        struct mipmap *mipmaps;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct array *array_get(CUarray handle)
{
        struct array *array = (struct array *)handle;

        if (!array || (uintptr_t)array % _Alignof(struct array) || array->magic != ARRAY_MAGIC)
                return NULL;
        return array;
}

struct mipmap *mipmap_get(CUmipmappedArray handle)
{
        struct mipmap *mipmap = (struct mipmap *)handle;

        if (!mipmap || (uintptr_t)mipmap % _Alignof(struct mipmap) || mipmap->magic != MIPMAP_MAGIC)
                return NULL;
        return mipmap;
}

static unsigned format_bytes(CUarray_format format)
{
        switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
                return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
                return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
                return 4;
        default:
                return 0;
        }
}

/* Formats that say how many channels they have. */
static unsigned packed_bytes(CUarray_format format)
{
        static const unsigned char bytes[] = { 1, 2, 4, 2, 4, 8, 1, 2, 4, 2, 4, 8 };

        if (format < CU_AD_FORMAT_UNORM_INT8X1 || format > CU_AD_FORMAT_SNORM_INT16X4)
                return 0;
        return bytes[format - CU_AD_FORMAT_UNORM_INT8X1];
}

unsigned array_element_bytes(CUarray_format format, unsigned channels)
{
        if (channels != 1 && channels != 2 && channels != 4)
                return 0;
        return packed_bytes(format) ? packed_bytes(format) : format_bytes(format) * channels;
}

static CUresult descriptor_check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
        if (!d->Width || !array_element_bytes(d->Format, d->NumChannels))
                return CUDA_ERROR_INVALID_VALUE;
        if (d->Flags & ~0x1ffu)
                return CUDA_ERROR_INVALID_VALUE;
        /* Layers need no height; a volume does. */
        if (d->Depth && !d->Height && !(d->Flags & CUDA_ARRAY3D_LAYERED))
                return CUDA_ERROR_INVALID_VALUE;
        if (d->Flags & CUDA_ARRAY3D_CUBEMAP && (d->Width != d->Height || !d->Depth || d->Depth % 6))
                return CUDA_ERROR_INVALID_VALUE;
        if (d->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
                return CUDA_ERROR_NOT_SUPPORTED;
        return d->Width > 1 << 27 || d->Height > 1 << 17 || d->Depth > 1 << 14
                       ? CUDA_ERROR_INVALID_VALUE
                       : CUDA_SUCCESS;
}

/* Fills in all but the allocation. Returns its bytes; at most 2^63. */
static uint64_t array_lay_out(struct array *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
        array->magic = ARRAY_MAGIC;
        array->descriptor = *d;
        array->element_bytes = array_element_bytes(d->Format, d->NumChannels);
        array->pitch = (d->Width * array->element_bytes + ROW_ALIGN - 1) & ~(ROW_ALIGN - 1);
        array->rows = d->Height ? d->Height : 1;
        array->planes = d->Depth ? d->Depth : 1;
        return array->pitch * array->rows * array->planes;
}

static CUresult array_memory(struct context *context, uint64_t bytes, struct allocation **ret)
{
        struct holdings *holdings = context_holdings(context);

        if (!holdings)
                return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = heap_alloc(&holdings->arrays, bytes, MEMORY_ARRAY, ret);
        if (r == CUDA_ERROR_OUT_OF_MEMORY && pool_reclaim(context->device))
                r = heap_alloc(&holdings->arrays, bytes, MEMORY_ARRAY, ret);
        return r;
}

static CUresult array_begin(const CUDA_ARRAY3D_DESCRIPTOR *d, struct context **ret_context)
{
        CUresult r = context_need(ret_context);

        if (r == CUDA_SUCCESS)
                r = capture_forbids();
        return r == CUDA_SUCCESS ? descriptor_check(d) : r;
}

CUresult sim_cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
        struct context *context;

        if (!pHandle || !pAllocateArray)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult r = array_begin(pAllocateArray, &context);
        if (r != CUDA_SUCCESS)
                return r;
        struct array *array = calloc(1, sizeof *array);
        if (!array)
                return CUDA_ERROR_OUT_OF_MEMORY;
        r = array_memory(context, array_lay_out(array, pAllocateArray), &array->allocation);
        if (r != CUDA_SUCCESS) {
                free(array);
                return r;
        }
        array->context = context;
        pthread_mutex_lock(&table.lock);
        array->next = table.arrays;
        table.arrays = array;
        pthread_mutex_unlock(&table.lock);
        *pHandle = (CUarray)array;
        return CUDA_SUCCESS;
}

CUresult sim_cuArray3DCreate(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
        if (!d)
                return CUDA_ERROR_INVALID_VALUE;
        CUDA_ARRAY3D_DESCRIPTOR wide = {
                .Width = d->Width,
                .Height = d->Height,
                .Depth = d->Depth,
                .Format = d->Format,
                .NumChannels = d->NumChannels,
                .Flags = d->Flags,
        };
        return sim_cuArray3DCreate_v2(pHandle, &wide);
}

CUresult sim_cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *d)
{
        if (!d)
                return CUDA_ERROR_INVALID_VALUE;
        CUDA_ARRAY3D_DESCRIPTOR wide = {
                .Width = d->Width,
                .Height = d->Height,
                .Format = d->Format,
                .NumChannels = d->NumChannels,
        };
        return sim_cuArray3DCreate_v2(pHandle, &wide);
}

CUresult sim_cuArrayCreate(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
        if (!d)
                return CUDA_ERROR_INVALID_VALUE;
        CUDA_ARRAY_DESCRIPTOR wide = {
                .Width = d->Width,
                .Height = d->Height,
                .Format = d->Format,
                .NumChannels = d->NumChannels,
        };
        return sim_cuArrayCreate_v2(pHandle, &wide);
}

CUresult sim_cuArrayDestroy(CUarray hArray)
{
        struct array *array = array_get(hArray);

        if (!array)
                return CUDA_ERROR_INVALID_HANDLE;
        if (array->is_level)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult r = context_wait(array->context);
        pthread_mutex_lock(&table.lock);
        struct array **link = &table.arrays;
        while (*link && *link != array)
                link = &(*link)->next;
        if (*link)
                *link = array->next;
        pthread_mutex_unlock(&table.lock);
        heap_free(array->allocation);
        array->magic = 0;
        free(array);
        return r;
}

CUresult sim_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
        struct array *array = array_get(hArray);

        if (!array)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!pArrayDescriptor)
                return CUDA_ERROR_INVALID_VALUE;
        *pArrayDescriptor = array->descriptor;
        return CUDA_SUCCESS;
}

CUresult sim_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray)
{
        CUDA_ARRAY3D_DESCRIPTOR d;
        CUresult r = sim_cuArray3DGetDescriptor_v2(pArrayDescriptor ? &d : NULL, hArray);

        if (r == CUDA_SUCCESS)
                *pArrayDescriptor = (CUDA_ARRAY3D_DESCRIPTOR_v1){
                        .Width = (unsigned)d.Width,
                        .Height = (unsigned)d.Height,
                        .Depth = (unsigned)d.Depth,
                        .Format = d.Format,
                        .NumChannels = d.NumChannels,
                        .Flags = d.Flags,
                };
        return r;
}

CUresult sim_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor, CUarray hArray)
{
        CUDA_ARRAY3D_DESCRIPTOR d;
        CUresult r = sim_cuArray3DGetDescriptor_v2(pArrayDescriptor ? &d : NULL, hArray);

        if (r == CUDA_SUCCESS)
                *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){
                        .Width = d.Width,
                        .Height = d.Height,
                        .Format = d.Format,
                        .NumChannels = d.NumChannels,
                };
        return r;
}

CUresult sim_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *pArrayDescriptor, CUarray hArray)
{
        CUDA_ARRAY3D_DESCRIPTOR d;
        CUresult r = sim_cuArray3DGetDescriptor_v2(pArrayDescriptor ? &d : NULL, hArray);

        if (r == CUDA_SUCCESS)
                *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR_v1){
                        .Width = (unsigned)d.Width,
                        .Height = (unsigned)d.Height,
                        .Format = d.Format,
                        .NumChannels = d.NumChannels,
                };
        return r;
}

/* No format of several planes is accepted, so there is no plane to give. */
CUresult sim_cuArrayGetPlane(CUarray *pPlaneArray, CUarray hArray, unsigned int planeIdx)
{
        (void)planeIdx;
        if (!array_get(hArray))
                return CUDA_ERROR_INVALID_HANDLE;
        (void)pPlaneArray;
        return CUDA_ERROR_INVALID_VALUE;
}

static CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *ret,
                             const struct allocation *allocation, CUdevice device)
{
        if (!driver_device(device))
                return CUDA_ERROR_INVALID_DEVICE;
        if (!ret)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = (CUDA_ARRAY_MEMORY_REQUIREMENTS){
                .size = (allocation->size + TILE_BYTES - 1) & ~(size_t)(TILE_BYTES - 1),
                .alignment = TILE_BYTES,
        };
        return CUDA_SUCCESS;
}

CUresult sim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
                                          CUarray array, CUdevice device)
{
        struct array *known = array_get(array);

        return known ? requirements(memoryRequirements, known->allocation, device)
                     : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuMipmappedArrayGetMemoryRequirements(
        CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUmipmappedArray mipmap,
        CUdevice device)
{
        struct mipmap *known = mipmap_get(mipmap);

        return known ? requirements(memoryRequirements, known->levels[0].allocation, device)
                     : CUDA_ERROR_INVALID_HANDLE;
}

/* Sparse arrays are refused when they are made: none has such properties. */
CUresult sim_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                        CUarray array)
{
        (void)sparseProperties;
        return array_get(array) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparseProperties,
                                                 CUmipmappedArray mipmap)
{
        (void)sparseProperties;
        return mipmap_get(mipmap) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

static size_t halve(size_t length, unsigned times)
{
        size_t halved = length >> times;

        return length && !halved ? 1 : halved;
}

static unsigned levels_at_most(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
        size_t longest = d->Width > d->Height ? d->Width : d->Height;
        bool has_volume = !(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP));

        if (has_volume && d->Depth > longest)
                longest = d->Depth;
        return 64u - (unsigned)__builtin_clzll(longest);
}

/* Lays the levels out one after the other. Returns the bytes of all. */
static uint64_t mipmap_lay_out(struct mipmap *mipmap, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
        bool has_volume = !(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP));
        uint64_t total = 0;

        for (unsigned i = 0; i < mipmap->level_count; i++) {
                CUDA_ARRAY3D_DESCRIPTOR level = *d;
                level.Width = halve(d->Width, i);
                level.Height = halve(d->Height, i);
                if (has_volume)
                        level.Depth = halve(d->Depth, i);
                mipmap->levels[i].offset = total;
                mipmap->levels[i].is_level = true;
                total += array_lay_out(&mipmap->levels[i], &level);
                total = (total + LEVEL_ALIGN - 1) & ~(LEVEL_ALIGN - 1);
        }
        return total;
}

CUresult sim_cuMipmappedArrayCreate(CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *d,
                                    unsigned int numMipmapLevels)
{
        struct allocation *allocation;
        struct context *context;

        if (!pHandle || !d || !numMipmapLevels)
                return CUDA_ERROR_INVALID_VALUE;
        CUresult r = array_begin(d, &context);
        if (r != CUDA_SUCCESS)
                return r;
        struct mipmap *mipmap = calloc(1, sizeof *mipmap);
        if (!mipmap)
                return CUDA_ERROR_OUT_OF_MEMORY;
        mipmap->magic = MIPMAP_MAGIC;
        mipmap->level_count = levels_at_most(d);
        if (numMipmapLevels < mipmap->level_count)
                mipmap->level_count = numMipmapLevels;
        r = array_memory(context, mipmap_lay_out(mipmap, d), &allocation);
        if (r != CUDA_SUCCESS) {
                free(mipmap);
                return r;
        }
        for (unsigned i = 0; i < mipmap->level_count; i++) {
                mipmap->levels[i].allocation = allocation;
                mipmap->levels[i].context = context;
        }
        pthread_mutex_lock(&table.lock);
        mipmap->next = table.mipmaps;
        table.mipmaps = mipmap;
        pthread_mutex_unlock(&table.lock);
        *pHandle = (CUmipmappedArray)mipmap;
        return CUDA_SUCCESS;
}

static void mipmap_free(struct mipmap *mipmap)
{
        for (unsigned i = 0; i < mipmap->level_count; i++)
                mipmap->levels[i].magic = 0;
        mipmap->magic = 0;
        free(mipmap);
}

CUresult sim_cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
        struct mipmap *mipmap = mipmap_get(hMipmappedArray);

        if (!mipmap)
                return CUDA_ERROR_INVALID_HANDLE;
        CUresult r = context_wait(mipmap->levels[0].context);
        pthread_mutex_lock(&table.lock);
        struct mipmap **link = &table.mipmaps;
        while (*link && *link != mipmap)
                link = &(*link)->next;
        if (*link)
                *link = mipmap->next;
        pthread_mutex_unlock(&table.lock);
        heap_free(mipmap->levels[0].allocation);
        mipmap_free(mipmap);
        return r;
}

CUresult sim_cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                      unsigned int level)
{
        struct mipmap *mipmap = mipmap_get(hMipmappedArray);

        if (!mipmap)
                return CUDA_ERROR_INVALID_HANDLE;
        if (!pLevelArray || level >= mipmap->level_count)
                return CUDA_ERROR_INVALID_VALUE;
        *pLevelArray = (CUarray)&mipmap->levels[level];
        return CUDA_SUCCESS;
}

/* The bytes go with the context's heap. */
void array_context_done(struct context *context)
{
        pthread_mutex_lock(&table.lock);
        for (struct array **link = &table.arrays; *link;) {
                struct array *array = *link;
                if (array->context != context) {
                        link = &array->next;
                        continue;
                }
                *link = array->next;
                array->magic = 0;
                free(array);
        }
        for (struct mipmap **link = &table.mipmaps; *link;) {
                struct mipmap *mipmap = *link;
                if (mipmap->levels[0].context != context) {
                        link = &mipmap->next;
                        continue;
                }
                *link = mipmap->next;
                mipmap_free(mipmap);
        }
        pthread_mutex_unlock(&table.lock);
}
