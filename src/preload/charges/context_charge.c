/* SPDX-License-Identifier: Apache-2.0 */
/* context_charge: contexts are measured; exempt ones only known. */
#include "context_charge.h"

#include "devices.h"
#include "library_charge.h"
#include "limits.h"
#include "log.h"
#include "presence.h"

static _Atomic uint64_t *last_bytes(int device_index)
{
        return &ledger_region()->file->devices[device_index].context_bytes;
}

CUresult context_charge_begin(struct measure *measure, CUdevice device)
{
        int device_index = devices_index(device);

        *measure = (struct measure){ .ordinal = device, .device_index = device_index };
        if (!limits_are_set() || !ledger_is_open())
                return CUDA_SUCCESS;
        if (device_index >= 0 && limits_context_is_exempt((unsigned)device_index)) {
                measure_watch(measure, device);
                return CUDA_SUCCESS;
        }
        static const _Atomic uint64_t unknown;
        return measure_begin_context(measure, device,
                                     device_index < 0 ? &unknown : last_bytes(device_index));
}

CUresult context_charge_end(struct measure *measure, CUresult result, CUcontext context,
                            CUdevice device, CUresult (*undo)(CUcontext context, CUdevice device))
{
        uint64_t key = result == CUDA_SUCCESS ? (uint64_t)(uintptr_t)context : 0;
        bool is_measured = measure->is_active;
        CUresult r = measure_end(measure, result, key, key, HOLDING_CONTEXT);

        if (result != CUDA_SUCCESS || !limits_are_set() || !ledger_is_open())
                return r;
        if (is_measured && measure->taken_bytes)
                atomic_store(last_bytes(measure->device_index), measure->taken_bytes);
        log_debug("device %d: a context took %llu bytes", device,
                  (unsigned long long)measure->taken_bytes);
        if (r == CUDA_SUCCESS)
                r = library_charge_context(context, device);
        if (r != CUDA_SUCCESS) {
                presence_enter();
                undo(context, device);
                ledger_release_context(key);
                presence_leave();
                library_charge_context_gone(context);
        }
        return r;
}

static CUresult destroy(CUcontext context, CUdevice device)
{
        (void)device;
        return real_cuda.cuCtxDestroy_v2(context);
}

CUresult context_charge_created(struct measure *measure, CUresult result, const CUcontext *context)
{
        return context_charge_end(measure, result, result == CUDA_SUCCESS ? *context : NULL,
                                  measure->ordinal, destroy);
}
