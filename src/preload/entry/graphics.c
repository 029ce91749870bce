/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts made for sharing with OpenGL and VDPAU: contexts like others. */
#include "batch.h"
#include "context_charge.h"

CUresult hook_cuGLCtxCreate(cuGLCtxCreate_fn *real, CUcontext *context, unsigned int flags,
                            CUdevice device)
{
        struct measure measure;

        batch_leave();
        CUresult r = context_charge_begin(&measure, device);
        return r != CUDA_SUCCESS
                       ? r
                       : context_charge_created(&measure, real(context, flags, device), context);
}

CUresult hook_cuGLCtxCreate_v2(cuGLCtxCreate_v2_fn *real, CUcontext *context, unsigned int flags,
                               CUdevice device)
{
        return hook_cuGLCtxCreate((cuGLCtxCreate_fn *)real, context, flags, device);
}

CUresult hook_cuVDPAUCtxCreate(cuVDPAUCtxCreate_fn *real, CUcontext *context, unsigned int flags,
                               CUdevice device, VdpDevice display, VdpGetProcAddress *look_up)
{
        struct measure measure;

        batch_leave();
        CUresult r = context_charge_begin(&measure, device);
        if (r != CUDA_SUCCESS)
                return r;
        return context_charge_created(&measure, real(context, flags, device, display, look_up),
                                      context);
}

CUresult hook_cuVDPAUCtxCreate_v2(cuVDPAUCtxCreate_v2_fn *real, CUcontext *context,
                                  unsigned int flags, CUdevice device, VdpDevice display,
                                  VdpGetProcAddress *look_up)
{
        return hook_cuVDPAUCtxCreate((cuVDPAUCtxCreate_fn *)real, context, flags, device, display,
                                     look_up);
}
