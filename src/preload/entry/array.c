/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and mipmaps: their layout is the driver's secret, so they are measured; they hold at least
 * their elements, so one that cannot fit is refused before the driver is asked. */
#include "array_need.h"
#include "batch.h"
#include "measured.h"
#include "real.h"

static CUresult array_undo(const void *array)
{
        return real_cuda.cuArrayDestroy((CUarray)(uintptr_t)array);
}

static CUresult mipmap_undo(const void *array)
{
        return real_cuda.cuMipmappedArrayDestroy((CUmipmappedArray)(uintptr_t)array);
}

CUresult hook_cuArrayCreate(cuArrayCreate_fn *real, CUarray *array,
                            const CUDA_ARRAY_DESCRIPTOR_v1 *shape)
{
        struct measure measure;
        struct target target;
        CUresult r = measured_begin(&measure, array_need_flat_v1(shape), &target);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(array, shape);
        return measured_end(&measure, &target, r, r == CUDA_SUCCESS ? *array : NULL, HOLDING_ARRAY,
                            array_undo);
}

CUresult hook_cuArrayCreate_v2(cuArrayCreate_v2_fn *real, CUarray *array,
                               const CUDA_ARRAY_DESCRIPTOR *shape)
{
        struct measure measure;
        struct target target;
        CUresult r = measured_begin(&measure, array_need_flat(shape), &target);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(array, shape);
        return measured_end(&measure, &target, r, r == CUDA_SUCCESS ? *array : NULL, HOLDING_ARRAY,
                            array_undo);
}

CUresult hook_cuArray3DCreate(cuArray3DCreate_fn *real, CUarray *array,
                              const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape)
{
        struct measure measure;
        struct target target;
        CUresult r = measured_begin(&measure, array_need_v1(shape), &target);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(array, shape);
        return measured_end(&measure, &target, r, r == CUDA_SUCCESS ? *array : NULL, HOLDING_ARRAY,
                            array_undo);
}

CUresult hook_cuArray3DCreate_v2(cuArray3DCreate_v2_fn *real, CUarray *array,
                                 const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
        struct measure measure;
        struct target target;
        CUresult r = measured_begin(&measure, array_need(shape, 1), &target);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(array, shape);
        return measured_end(&measure, &target, r, r == CUDA_SUCCESS ? *array : NULL, HOLDING_ARRAY,
                            array_undo);
}

CUresult hook_cuMipmappedArrayCreate(cuMipmappedArrayCreate_fn *real, CUmipmappedArray *array,
                                     const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned int levels)
{
        struct measure measure;
        struct target target;
        CUresult r = measured_begin(&measure, array_need(shape, levels), &target);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(array, shape, levels);
        return measured_end(&measure, &target, r, r == CUDA_SUCCESS ? *array : NULL, HOLDING_ARRAY,
                            mipmap_undo);
}

CUresult hook_cuArrayDestroy(cuArrayDestroy_fn *real, CUarray array)
{
        struct measured_gift gift;

        batch_wait_begins();
        measured_give_begin(&gift, array);
        const CUresult r = measured_give_end(&gift, real(array));
        batch_wait_ends();
        return r;
}

CUresult hook_cuMipmappedArrayDestroy(cuMipmappedArrayDestroy_fn *real, CUmipmappedArray array)
{
        struct measured_gift gift;

        batch_wait_begins();
        measured_give_begin(&gift, array);
        const CUresult r = measured_give_end(&gift, real(array));
        batch_wait_ends();
        return r;
}
