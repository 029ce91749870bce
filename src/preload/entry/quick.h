/* SPDX-License-Identifier: Apache-2.0 */
/* quick: asked by a shell before its hook. True: there is nothing to check, and the call goes
 * straight to the driver, as a jump. One function per row of the table that says `quick`, or
 * `quick=launch` (asked only while compute is limited); the first argument tells the twin for per-thread
 * default streams. */
#pragma once

#include "batch.h"
#include "graph_charge.h"
#include "limits_compute.h"
#include "virtual_heat.h"

static inline bool quick_cuLaunchKernel(bool is_twin, CUfunction f, unsigned gx, unsigned gy,
                                        unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                        unsigned shared, CUstream stream, void **params,
                                        void **extra)
{
        (void)shared, (void)params, (void)extra;
        return !virtual_heat_is_on() && batch_pass(batch_stream(stream, is_twin),
                                                   cost_key_kernel(f, gx, gy, gz, bx, by, bz));
}

static inline bool quick_cuLaunchCooperativeKernel(bool is_twin, CUfunction f, unsigned gx,
                                                   unsigned gy, unsigned gz, unsigned bx,
                                                   unsigned by, unsigned bz, unsigned shared,
                                                   CUstream stream, void **params)
{
        (void)shared, (void)params;
        return !virtual_heat_is_on() && batch_pass(batch_stream(stream, is_twin),
                                                   cost_key_kernel(f, gx, gy, gz, bx, by, bz));
}

static inline bool quick_cuLaunchKernelEx(bool is_twin, const CUlaunchConfig *c, CUfunction f,
                                          void **params, void **extra)
{
        (void)params, (void)extra;
        return c && !virtual_heat_is_on() &&
               batch_pass(batch_stream(c->hStream, is_twin),
                          cost_key_kernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX,
                                          c->blockDimY, c->blockDimZ));
}

static inline bool quick_cuGraphLaunch(bool is_twin, CUgraphExec instance, CUstream stream)
{
        return !graph_charge_is_used() && !virtual_heat_is_on() &&
               (!limits_compute_is_on() ||
                batch_pass(batch_stream(stream, is_twin), cost_key_graph(instance)));
}

/* The old way: the shape of a block was said before. */
static inline bool quick_cuLaunch(bool is_twin, CUfunction f)
{
        (void)is_twin;
        return batch_pass(NULL, cost_key_kernel(f, 1, 1, 1, 0, 0, 0));
}

static inline bool quick_cuLaunchGrid(bool is_twin, CUfunction f, int width, int height)
{
        (void)is_twin;
        return batch_pass(NULL, cost_key_kernel(f, (unsigned)width, (unsigned)height, 1, 0, 0, 0));
}

static inline bool quick_cuLaunchGridAsync(bool is_twin, CUfunction f, int width, int height,
                                           CUstream stream)
{
        (void)is_twin;
        return batch_pass(stream,
                          cost_key_kernel(f, (unsigned)width, (unsigned)height, 1, 0, 0, 0));
}

/* Calls after which work may be known to be done: there is none to settle. */
static inline bool quick_cuStreamQuery(bool is_twin, CUstream stream)
{
        (void)is_twin, (void)stream;
        return !meter_has_work();
}

static inline bool quick_cuEventQuery(bool is_twin, CUevent event)
{
        (void)is_twin, (void)event;
        return !meter_has_work();
}

static inline bool quick_cuMemFreeHost(bool is_twin, void *memory)
{
        (void)is_twin, (void)memory;
        return !meter_has_work();
}

static inline bool quick_cuStreamWaitEvent(bool is_twin, CUstream stream, CUevent event,
                                           unsigned flags)
{
        (void)is_twin, (void)stream, (void)event, (void)flags;
        return !meter_has_work();
}
