/* SPDX-License-Identifier: Apache-2.0 */
/* start: lazily, once, from whichever thread comes first. */
#include "start.h"

#include <sched.h>
#include <stdatomic.h>

#include "limits.h"
#include "log.h"
#include "real.h"

static struct {
        _Atomic int cuda, nvml, limits; /* enum stage */
        int limits_error;
} start;

enum stage { NOT_STARTED, STARTING, STARTED };

/* True for the one who is to do it; the others wait until it is done. */
static bool stage_enter(_Atomic int *stage)
{
        int seen = NOT_STARTED;

        if (atomic_compare_exchange_strong(stage, &seen, STARTING))
                return true;
        while (atomic_load(stage) != STARTED)
                sched_yield();
        return false;
}

static void start_limits(void)
{
        struct err e = { 0 };

        if (!stage_enter(&start.limits))
                return;
        start.limits_error = limits_start(&e);
        if (start.limits_error < 0)
                log_fatal("%s; the program gets no GPU", e.text);
        else
                log_debug("limits come from %s", limits_share_path() ? limits_share_path()
                                                 : limits_are_set()  ? "the environment"
                                                                     : "nowhere: there are none");
        atomic_store(&start.limits, STARTED);
}

void start_cuda(void)
{
        start_limits();
        if (!stage_enter(&start.cuda))
                return;
        if (!real_load_cuda())
                log_debug("no libcuda.so.1 to load");
        else
                log_debug("libcuda.so.1 is loaded");
        atomic_store(&start.cuda, STARTED);
}

void start_nvml(void)
{
        start_limits();
        if (!stage_enter(&start.nvml))
                return;
        if (!real_load_nvml())
                log_debug("no libnvidia-ml.so.1 to load");
        else
                log_debug("libnvidia-ml.so.1 is loaded");
        atomic_store(&start.nvml, STARTED);
}

CUresult start_refusal(void)
{
        return start.limits_error < 0 ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

int start_missing_cuda(void)
{
        return CUDA_ERROR_NOT_FOUND;
}

int start_missing_nvml(void)
{
        return NVML_ERROR_FUNCTION_NOT_FOUND;
}

int start_deny_cuda(const char *name)
{
        start_cuda();
        if (!limits_are_set())
                return CUDA_SUCCESS;
        log_warn("%s is refused: it would bypass the memory limit", name);
        return CUDA_ERROR_NOT_PERMITTED;
}

int start_deny_nvml(const char *name)
{
        start_nvml();
        if (!limits_are_set())
                return NVML_SUCCESS;
        log_warn("%s is refused: it exposes other containers", name);
        return NVML_ERROR_NO_PERMISSION;
}
