/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface references: the older way to bind memory to a module's name. */
#include "texture.h"

#include <string.h>

#include "copy_shape.h"
#include "sim_cuda.h"

static struct texture *reference_get(const void *handle, bool is_surface)
{
        struct texture *texture = (struct texture *)(uintptr_t)handle;

        if (!texture || (uintptr_t)texture % _Alignof(struct texture) ||
            texture->magic != TEXTURE_MAGIC || !texture->is_reference ||
            texture->is_surface != is_surface)
                return NULL;
        return texture;
}

/* NULL: `handle` is no reference of that kind. */
static struct texture *texture_reference_get(CUtexref handle)
{
        return reference_get(handle, false);
}

static struct texture *surface_reference_get(CUsurfref handle)
{
        return reference_get(handle, true);
}

CUresult sim_cuTexRefCreate(CUtexref *pTexRef)
{
        struct texture *texture = pTexRef ? texture_new(false, true) : NULL;

        if (!texture)
                return pTexRef ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
        texture->channels = 1;
        texture->format = CU_AD_FORMAT_FLOAT;
        *pTexRef = (CUtexref)texture;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefDestroy(CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture)
                return CUDA_ERROR_INVALID_VALUE;
        texture_free(texture);
        return CUDA_SUCCESS;
}

/* Linear memory has no format of its own: the reference's applies. */
static void reference_format(struct texture *texture)
{
        CUDA_RESOURCE_DESC *r = &texture->resource;

        if (r->resType == CU_RESOURCE_TYPE_LINEAR) {
                r->res.linear.format = texture->format;
                r->res.linear.numChannels = (unsigned)texture->channels;
        } else if (r->resType == CU_RESOURCE_TYPE_PITCH2D) {
                r->res.pitch2D.format = texture->format;
                r->res.pitch2D.numChannels = (unsigned)texture->channels;
        }
}

CUresult sim_cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags)
{
        struct texture *texture = texture_reference_get(hTexRef);
        struct array *array = array_get(hArray);

        if (!texture || Flags != CU_TRSA_OVERRIDE_FORMAT)
                return CUDA_ERROR_INVALID_VALUE;
        if (!array)
                return CUDA_ERROR_INVALID_HANDLE;
        texture->resource = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY,
                                                  .res.array.hArray = hArray };
        texture->format = array->descriptor.Format;
        texture->channels = (int)array->descriptor.NumChannels;
        texture->is_bound = true;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray,
                                       unsigned int Flags)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || Flags != CU_TRSA_OVERRIDE_FORMAT)
                return CUDA_ERROR_INVALID_VALUE;
        if (!mipmap_get(hMipmappedArray))
                return CUDA_ERROR_INVALID_HANDLE;
        texture->resource = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                                  .res.mipmap.hMipmappedArray = hMipmappedArray };
        texture->is_bound = true;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetAddress_v2(size_t *ByteOffset, CUtexref hTexRef, CUdeviceptr dptr,
                                   size_t bytes)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture)
                return CUDA_ERROR_INVALID_VALUE;
        if (ByteOffset)
                *ByteOffset = 0;
        if (!dptr) {
                texture->is_bound = false;
                return CUDA_SUCCESS;
        }
        if (!bytes || !range_is_known(dptr, bytes))
                return CUDA_ERROR_INVALID_VALUE;
        texture->resource = (CUDA_RESOURCE_DESC){
                .resType = CU_RESOURCE_TYPE_LINEAR,
                .res.linear = { .devPtr = dptr, .sizeInBytes = bytes },
        };
        reference_format(texture);
        texture->is_bound = true;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetAddress(unsigned int *ByteOffset, CUtexref hTexRef, CUdeviceptr_v1 dptr,
                                unsigned int bytes)
{
        if (ByteOffset)
                *ByteOffset = 0;
        return sim_cuTexRefSetAddress_v2(NULL, hTexRef, dptr, bytes);
}

CUresult sim_cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                     CUdeviceptr dptr, size_t Pitch)
{
        struct texture *texture = texture_reference_get(hTexRef);
        size_t element = desc ? array_element_bytes(desc->Format, desc->NumChannels) : 0;

        if (!texture || !element || !desc->Width || !desc->Height ||
            Pitch < desc->Width * element ||
            !range_is_known(dptr, (desc->Height - 1) * Pitch + desc->Width * element))
                return CUDA_ERROR_INVALID_VALUE;
        texture->format = desc->Format;
        texture->channels = (int)desc->NumChannels;
        texture->resource = (CUDA_RESOURCE_DESC){
                .resType = CU_RESOURCE_TYPE_PITCH2D,
                .res.pitch2D = { .devPtr = dptr,
                                 .width = desc->Width,
                                 .height = desc->Height,
                                 .pitchInBytes = Pitch },
        };
        reference_format(texture);
        texture->is_bound = true;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR *desc,
                                     CUdeviceptr dptr, size_t Pitch)
{
        return sim_cuTexRefSetAddress2D_v3(hTexRef, desc, dptr, Pitch);
}

CUresult sim_cuTexRefSetAddress2D(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR_v1 *desc,
                                  CUdeviceptr_v1 dptr, unsigned int Pitch)
{
        if (!desc)
                return CUDA_ERROR_INVALID_VALUE;
        CUDA_ARRAY_DESCRIPTOR wide = {
                .Width = desc->Width,
                .Height = desc->Height,
                .Format = desc->Format,
                .NumChannels = desc->NumChannels,
        };
        return sim_cuTexRefSetAddress2D_v3(hTexRef, &wide, dptr, Pitch);
}

CUresult sim_cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !array_element_bytes(fmt, (unsigned)NumPackedComponents))
                return CUDA_ERROR_INVALID_VALUE;
        texture->format = fmt;
        texture->channels = NumPackedComponents;
        reference_format(texture);
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetFormat(CUarray_format *pFormat, int *pNumChannels, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pFormat || !pNumChannels)
                return CUDA_ERROR_INVALID_VALUE;
        *pFormat = texture->format;
        *pNumChannels = texture->channels;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || dim < 0 || dim > 2 || am > CU_TR_ADDRESS_MODE_BORDER)
                return CUDA_ERROR_INVALID_VALUE;
        texture->sampling.addressMode[dim] = am;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetAddressMode(CUaddress_mode *pam, CUtexref hTexRef, int dim)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pam || dim < 0 || dim > 2)
                return CUDA_ERROR_INVALID_VALUE;
        *pam = texture->sampling.addressMode[dim];
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || fm > CU_TR_FILTER_MODE_LINEAR)
                return CUDA_ERROR_INVALID_VALUE;
        texture->sampling.filterMode = fm;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pfm)
                return CUDA_ERROR_INVALID_VALUE;
        *pfm = texture->sampling.filterMode;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || fm > CU_TR_FILTER_MODE_LINEAR)
                return CUDA_ERROR_INVALID_VALUE;
        texture->sampling.mipmapFilterMode = fm;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetMipmapFilterMode(CUfilter_mode *pfm, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pfm)
                return CUDA_ERROR_INVALID_VALUE;
        *pfm = texture->sampling.mipmapFilterMode;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture)
                return CUDA_ERROR_INVALID_VALUE;
        texture->sampling.mipmapLevelBias = bias;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetMipmapLevelBias(float *pbias, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pbias)
                return CUDA_ERROR_INVALID_VALUE;
        *pbias = texture->sampling.mipmapLevelBias;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp,
                                         float maxMipmapLevelClamp)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture)
                return CUDA_ERROR_INVALID_VALUE;
        texture->sampling.minMipmapLevelClamp = minMipmapLevelClamp;
        texture->sampling.maxMipmapLevelClamp = maxMipmapLevelClamp;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetMipmapLevelClamp(float *pminMipmapLevelClamp, float *pmaxMipmapLevelClamp,
                                         CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pminMipmapLevelClamp || !pmaxMipmapLevelClamp)
                return CUDA_ERROR_INVALID_VALUE;
        *pminMipmapLevelClamp = texture->sampling.minMipmapLevelClamp;
        *pmaxMipmapLevelClamp = texture->sampling.maxMipmapLevelClamp;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture)
                return CUDA_ERROR_INVALID_VALUE;
        texture->sampling.maxAnisotropy = maxAniso;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetMaxAnisotropy(int *pmaxAniso, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pmaxAniso)
                return CUDA_ERROR_INVALID_VALUE;
        *pmaxAniso = (int)texture->sampling.maxAnisotropy;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetBorderColor(CUtexref hTexRef, float *pBorderColor)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pBorderColor)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(texture->sampling.borderColor, pBorderColor, sizeof texture->sampling.borderColor);
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetBorderColor(float *pBorderColor, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pBorderColor)
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(pBorderColor, texture->sampling.borderColor, sizeof texture->sampling.borderColor);
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture)
                return CUDA_ERROR_INVALID_VALUE;
        texture->sampling.flags = Flags;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetFlags(unsigned int *pFlags, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pFlags)
                return CUDA_ERROR_INVALID_VALUE;
        *pFlags = texture->sampling.flags;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetAddress_v2(CUdeviceptr *pdptr, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !pdptr || !texture->is_bound)
                return CUDA_ERROR_INVALID_VALUE;
        if (texture->resource.resType == CU_RESOURCE_TYPE_LINEAR)
                *pdptr = texture->resource.res.linear.devPtr;
        else if (texture->resource.resType == CU_RESOURCE_TYPE_PITCH2D)
                *pdptr = texture->resource.res.pitch2D.devPtr;
        else
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetAddress(CUdeviceptr_v1 *pdptr, CUtexref hTexRef)
{
        CUdeviceptr wide;
        CUresult r = sim_cuTexRefGetAddress_v2(pdptr ? &wide : NULL, hTexRef);

        if (r == CUDA_SUCCESS)
                *pdptr = (CUdeviceptr_v1)wide;
        return r;
}

CUresult sim_cuTexRefGetArray(CUarray *phArray, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !phArray || !texture->is_bound ||
            texture->resource.resType != CU_RESOURCE_TYPE_ARRAY)
                return CUDA_ERROR_INVALID_VALUE;
        *phArray = texture->resource.res.array.hArray;
        return CUDA_SUCCESS;
}

CUresult sim_cuTexRefGetMipmappedArray(CUmipmappedArray *phMipmappedArray, CUtexref hTexRef)
{
        struct texture *texture = texture_reference_get(hTexRef);

        if (!texture || !phMipmappedArray || !texture->is_bound ||
            texture->resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
                return CUDA_ERROR_INVALID_VALUE;
        *phMipmappedArray = texture->resource.res.mipmap.hMipmappedArray;
        return CUDA_SUCCESS;
}

CUresult sim_cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags)
{
        struct texture *texture = surface_reference_get(hSurfRef);

        if (!texture || Flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (!array_get(hArray))
                return CUDA_ERROR_INVALID_HANDLE;
        texture->resource = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY,
                                                  .res.array.hArray = hArray };
        texture->is_bound = true;
        return CUDA_SUCCESS;
}

CUresult sim_cuSurfRefGetArray(CUarray *phArray, CUsurfref hSurfRef)
{
        struct texture *texture = surface_reference_get(hSurfRef);

        if (!texture || !phArray || !texture->is_bound)
                return CUDA_ERROR_INVALID_VALUE;
        *phArray = texture->resource.res.array.hArray;
        return CUDA_SUCCESS;
}
