/* Contexts made for sharing with OpenGL and VDPAU: contexts like others. */
#include "context_charge.h"

static CUresult destroy(CUcontext context, CUdevice device)
{
        (void)device;
        return real_cuda.cuCtxDestroy_v2(context);
}

static CUresult create_end(struct measure *measure, CUresult result, CUcontext *context)
{
        return context_charge_end(measure, result, result == CUDA_SUCCESS ? *context : NULL,
                                  measure->ordinal, destroy);
}

CUresult hook_cuGLCtxCreate(cuGLCtxCreate_fn *real, CUcontext *context, unsigned int flags,
                            CUdevice device)
{
        struct measure measure;
        CUresult r = context_charge_begin(&measure, device);

        return r != CUDA_SUCCESS ? r : create_end(&measure, real(context, flags, device), context);
}

CUresult hook_cuGLCtxCreate_v2(cuGLCtxCreate_v2_fn *real, CUcontext *context, unsigned int flags,
                               CUdevice device)
{
        struct measure measure;
        CUresult r = context_charge_begin(&measure, device);

        return r != CUDA_SUCCESS ? r : create_end(&measure, real(context, flags, device), context);
}

CUresult hook_cuVDPAUCtxCreate(cuVDPAUCtxCreate_fn *real, CUcontext *context, unsigned int flags,
                               CUdevice device, VdpDevice display, VdpGetProcAddress *look_up)
{
        struct measure measure;
        CUresult r = context_charge_begin(&measure, device);

        if (r != CUDA_SUCCESS)
                return r;
        return create_end(&measure, real(context, flags, device, display, look_up), context);
}

CUresult hook_cuVDPAUCtxCreate_v2(cuVDPAUCtxCreate_v2_fn *real, CUcontext *context,
                                  unsigned int flags, CUdevice device, VdpDevice display,
                                  VdpGetProcAddress *look_up)
{
        struct measure measure;
        CUresult r = context_charge_begin(&measure, device);

        if (r != CUDA_SUCCESS)
                return r;
        return create_end(&measure, real(context, flags, device, display, look_up), context);
}
