/* SPDX-License-Identifier: Apache-2.0 */
/* Launches under a limit of compute that found no credit: each route asks, calls, settles. */
#include "batch.h"
#include "real.h"
#include "region_layout.h"
#include "virtual_heat.h"

/* What the kernel uses of virtual memory comes onto the GPU if it is used often. */
static void heat(CUstream stream, CUfunction f, void **params, void **extra)
{
        struct virtual_heat used;

        if (!virtual_heat_is_on() || !virtual_heat_note(stream, f, params, extra, &used))
                return;
        batch_end(stream); /* the wait for it is no work */
        const CUstreamCaptureMode mode = meter_relax();
        virtual_heat_move(&used, stream);
        meter_restore(mode);
}

CUresult hook_cuLaunchKernel(cuLaunchKernel_fn *real, CUfunction f, unsigned int gx,
                             unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
                             unsigned int bz, unsigned int shared, CUstream stream, void **params,
                             void **extra)
{
        struct admission admission;
        bool is_twin = real == real_cuda.cuLaunchKernel_ptsz;

        heat(batch_stream(stream, is_twin), f, params, extra);
        batch_admit(batch_stream(stream, is_twin), f, cost_key_kernel(f, gx, gy, gz, bx, by, bz),
                    &admission);
        CUresult r = real(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
        batch_settle(&admission, r);
        return r;
}

CUresult hook_cuLaunchCooperativeKernel(cuLaunchCooperativeKernel_fn *real, CUfunction f,
                                        unsigned int gx, unsigned int gy, unsigned int gz,
                                        unsigned int bx, unsigned int by, unsigned int bz,
                                        unsigned int shared, CUstream stream, void **params)
{
        struct admission admission;
        bool is_twin = real == real_cuda.cuLaunchCooperativeKernel_ptsz;

        heat(batch_stream(stream, is_twin), f, params, NULL);
        batch_admit(batch_stream(stream, is_twin), f, cost_key_kernel(f, gx, gy, gz, bx, by, bz),
                    &admission);
        CUresult r = real(f, gx, gy, gz, bx, by, bz, shared, stream, params);
        batch_settle(&admission, r);
        return r;
}

CUresult hook_cuLaunchKernelEx(cuLaunchKernelEx_fn *real, const CUlaunchConfig *c, CUfunction f,
                               void **params, void **extra)
{
        struct admission admission;
        bool is_twin = real == real_cuda.cuLaunchKernelEx_ptsz;

        if (!c)
                return real(c, f, params, extra);
        heat(batch_stream(c->hStream, is_twin), f, params, extra);
        batch_admit(batch_stream(c->hStream, is_twin), f,
                    cost_key_kernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX,
                                    c->blockDimY, c->blockDimZ),
                    &admission);
        CUresult r = real(c, f, params, extra);
        batch_settle(&admission, r);
        return r;
}

/* One device after the other is asked: they start together once all have said yes. */
CUresult hook_cuLaunchCooperativeKernelMultiDevice(cuLaunchCooperativeKernelMultiDevice_fn *real,
                                                   CUDA_LAUNCH_PARAMS *launches, unsigned int count,
                                                   unsigned int flags)
{
        struct admission admissions[REGION_DEVICES];

        if (!launches || count > REGION_DEVICES)
                return real(launches, count, flags);
        for (unsigned i = 0; i < count; i++) {
                const CUDA_LAUNCH_PARAMS *l = &launches[i];
                batch_end(l->hStream); /* several batches must not each hold a part */
                batch_admit(l->hStream, l->function,
                            cost_key_kernel(l->function, l->gridDimX, l->gridDimY, l->gridDimZ,
                                            l->blockDimX, l->blockDimY, l->blockDimZ),
                            &admissions[i]);
        }
        CUresult r = real(launches, count, flags);
        for (unsigned i = 0; i < count; i++)
                batch_settle(&admissions[i], r);
        return r;
}

CUresult hook_cuLaunch(cuLaunch_fn *real, CUfunction f)
{
        struct admission admission;

        batch_admit(NULL, f, cost_key_kernel(f, 1, 1, 1, 0, 0, 0), &admission);
        CUresult r = real(f);
        batch_settle(&admission, r);
        return r;
}

CUresult hook_cuLaunchGrid(cuLaunchGrid_fn *real, CUfunction f, int width, int height)
{
        struct admission admission;

        batch_admit(NULL, f, cost_key_kernel(f, (unsigned)width, (unsigned)height, 1, 0, 0, 0),
                    &admission);
        CUresult r = real(f, width, height);
        batch_settle(&admission, r);
        return r;
}

CUresult hook_cuLaunchGridAsync(cuLaunchGridAsync_fn *real, CUfunction f, int width, int height,
                                CUstream stream)
{
        struct admission admission;

        batch_admit(stream, f, cost_key_kernel(f, (unsigned)width, (unsigned)height, 1, 0, 0, 0),
                    &admission);
        CUresult r = real(f, width, height, stream);
        batch_settle(&admission, r);
        return r;
}
