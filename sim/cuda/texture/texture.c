/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects. */
#include "texture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "copy_shape.h"
#include "sim_cuda.h"

enum { TEXTURE_BLOCK = 1024, TEXTURE_BLOCKS = 1024 };

/* Handle − 1 is an index into the table. Blocks are never freed: kernels read without the lock. */
static struct {
        pthread_mutex_t lock;
        _Atomic(_Atomic(struct texture *) *) blocks[TEXTURE_BLOCKS];
        uint64_t high;                 /* entries ever used */
        uint64_t spare[TEXTURE_BLOCK]; /* entries given back */
        unsigned spare_count;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Atomic(struct texture *) *texture_entry(uint64_t handle)
{
        uint64_t index = handle - 1;

        if (!handle || index >= (uint64_t)TEXTURE_BLOCK * TEXTURE_BLOCKS)
                return NULL;
        _Atomic(struct texture *) *block = atomic_load(&table.blocks[index / TEXTURE_BLOCK]);
        return block ? &block[index % TEXTURE_BLOCK] : NULL;
}

struct texture *texture_at(uint64_t handle)
{
        _Atomic(struct texture *) *entry = texture_entry(handle);

        return entry ? atomic_load_explicit(entry, memory_order_acquire) : NULL;
}

/* With the lock held; 0: the table is full. */
static uint64_t handle_take(void)
{
        if (table.spare_count)
                return table.spare[--table.spare_count];
        uint64_t index = table.high;
        if (index >= (uint64_t)TEXTURE_BLOCK * TEXTURE_BLOCKS)
                return 0;
        if (index % TEXTURE_BLOCK == 0) {
                void *block = calloc(TEXTURE_BLOCK, sizeof(struct texture *));
                if (!block)
                        return 0;
                atomic_store(&table.blocks[index / TEXTURE_BLOCK], block);
        }
        table.high++;
        return index + 1;
}

struct texture *texture_new(bool is_surface, bool is_reference)
{
        struct texture *texture = calloc(1, sizeof *texture);

        if (!texture)
                return NULL;
        texture->magic = TEXTURE_MAGIC;
        texture->is_surface = is_surface;
        texture->is_reference = is_reference;
        pthread_mutex_lock(&table.lock);
        texture->handle = handle_take();
        if (texture->handle)
                atomic_store(texture_entry(texture->handle), texture);
        pthread_mutex_unlock(&table.lock);
        if (texture->handle)
                return texture;
        free(texture);
        return NULL;
}

void texture_free(struct texture *texture)
{
        pthread_mutex_lock(&table.lock);
        atomic_store(texture_entry(texture->handle), NULL);
        if (table.spare_count < TEXTURE_BLOCK)
                table.spare[table.spare_count++] = texture->handle;
        pthread_mutex_unlock(&table.lock);
        texture->magic = 0;
        free(texture);
}

static CUresult resource_check(const CUDA_RESOURCE_DESC *resource, bool is_surface)
{
        size_t element;

        if (!resource || resource->flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (is_surface && resource->resType != CU_RESOURCE_TYPE_ARRAY)
                return CUDA_ERROR_INVALID_VALUE;
        switch (resource->resType) {
        case CU_RESOURCE_TYPE_ARRAY:
                return array_get(resource->res.array.hArray) ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_HANDLE;
        case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
                return mipmap_get(resource->res.mipmap.hMipmappedArray) ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_HANDLE;
        case CU_RESOURCE_TYPE_LINEAR:
                element = array_element_bytes(resource->res.linear.format,
                                              resource->res.linear.numChannels);
                return element && resource->res.linear.sizeInBytes &&
                                       range_is_known(resource->res.linear.devPtr,
                                                      resource->res.linear.sizeInBytes)
                               ? CUDA_SUCCESS
                               : CUDA_ERROR_INVALID_VALUE;
        case CU_RESOURCE_TYPE_PITCH2D:
                element = array_element_bytes(resource->res.pitch2D.format,
                                              resource->res.pitch2D.numChannels);
                return element && resource->res.pitch2D.width && resource->res.pitch2D.height &&
                                       resource->res.pitch2D.pitchInBytes >=
                                               resource->res.pitch2D.width * element &&
                                       range_is_known(resource->res.pitch2D.devPtr, 1)
                               ? CUDA_SUCCESS
                               : CUDA_ERROR_INVALID_VALUE;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

static CUresult sampling_check(const CUDA_TEXTURE_DESC *sampling)
{
        if (!sampling)
                return CUDA_ERROR_INVALID_VALUE;
        for (int i = 0; i < 3; i++)
                if (sampling->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
                        return CUDA_ERROR_INVALID_VALUE;
        if (sampling->filterMode > CU_TR_FILTER_MODE_LINEAR ||
            sampling->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                               const CUDA_TEXTURE_DESC *pTexDesc,
                               const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r == CUDA_SUCCESS)
                r = pTexObject ? resource_check(pResDesc, false) : CUDA_ERROR_INVALID_VALUE;
        if (r == CUDA_SUCCESS)
                r = sampling_check(pTexDesc);
        if (r != CUDA_SUCCESS)
                return r;
        struct texture *texture = texture_new(false, false);
        if (!texture)
                return CUDA_ERROR_OUT_OF_MEMORY;
        texture->is_bound = true;
        texture->resource = *pResDesc;
        texture->sampling = *pTexDesc;
        texture->has_view = pResViewDesc != NULL;
        if (pResViewDesc)
                texture->view = *pResViewDesc;
        *pTexObject = texture->handle;
        return CUDA_SUCCESS;
}

CUresult sim_cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r == CUDA_SUCCESS)
                r = pSurfObject ? resource_check(pResDesc, true) : CUDA_ERROR_INVALID_VALUE;
        if (r != CUDA_SUCCESS)
                return r;
        struct texture *texture = texture_new(true, false);
        if (!texture)
                return CUDA_ERROR_OUT_OF_MEMORY;
        texture->is_bound = true;
        texture->resource = *pResDesc;
        *pSurfObject = texture->handle;
        return CUDA_SUCCESS;
}

/* The object behind a handle; NULL: it is none of that kind. */
static struct texture *object_get(uint64_t handle, bool is_surface)
{
        struct texture *texture = texture_at(handle);

        return texture && !texture->is_reference && texture->is_surface == is_surface ? texture
                                                                                      : NULL;
}

static CUresult object_destroy(uint64_t handle, bool is_surface)
{
        struct texture *texture = object_get(handle, is_surface);
        struct context *context = context_current();

        if (!texture)
                return CUDA_ERROR_INVALID_VALUE;
        /* Kernels that still use it come first. */
        CUresult r = context ? context_wait(context) : CUDA_SUCCESS;
        texture_free(texture);
        return r;
}

CUresult sim_cuTexObjectDestroy(CUtexObject texObject)
{
        return object_destroy(texObject, false);
}

CUresult sim_cuSurfObjectDestroy(CUsurfObject surfObject)
{
        return object_destroy(surfObject, true);
}

static CUresult object_resource(CUDA_RESOURCE_DESC *ret, uint64_t handle, bool is_surface)
{
        struct texture *texture = object_get(handle, is_surface);

        if (!ret || !texture)
                return CUDA_ERROR_INVALID_VALUE;
        *ret = texture->resource;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
        return object_resource(pResDesc, texObject, false);
}

CUresult sim_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
        return object_resource(pResDesc, surfObject, true);
}

CUresult sim_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
        struct texture *texture = object_get(texObject, false);

        if (!pTexDesc || !texture)
                return CUDA_ERROR_INVALID_VALUE;
        *pTexDesc = texture->sampling;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *pResViewDesc,
                                            CUtexObject texObject)
{
        struct texture *texture = object_get(texObject, false);

        if (!pResViewDesc || !texture || !texture->has_view)
                return CUDA_ERROR_INVALID_VALUE;
        *pResViewDesc = texture->view;
        return CUDA_SUCCESS;
}
