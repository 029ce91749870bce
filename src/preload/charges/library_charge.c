/* SPDX-License-Identifier: Apache-2.0 */
/* library_charge: the contexts and libraries of this process, and one charge for each pair. */
#include "library_charge.h"

#include "lock.h"
#include "measure.h"
#include "presence.h"
#include "variable_charge.h"

enum { CONTEXTS = 1024, LIBRARIES = 16384 };

static struct {
        struct lock lock; /* held over the driver's calls: pairs are loaded once */
        struct {
                CUcontext context;
                CUdevice device;
        } contexts[CONTEXTS];
        struct {
                CUlibrary library;
                uint64_t need_bytes; /* in each context, at least */
        } libraries[LIBRARIES];
        unsigned context_count, library_count;
} known;

/* Addresses and handles never end in 11. */
static uint64_t pair_key(CUlibrary library, CUcontext context)
{
        uint64_t mixed = (uint64_t)(uintptr_t)library * UINT64_C(0x9e3779b97f4a7c15);

        return (mixed ^ (uint64_t)(uintptr_t)context) | 3;
}

/* Without a module for this device there is nothing to charge: the driver says so when it is used. */
static CUresult pair_load(unsigned index, CUcontext context, CUdevice device)
{
        const CUlibrary library = known.libraries[index].library;
        const uint64_t need = known.libraries[index].need_bytes;
        struct measure measure;
        CUmodule module;
        CUcontext popped;

        if (!real_cuda.cuLibraryGetModule || real_cuda.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
                return CUDA_SUCCESS;
        CUresult r = measure_begin(&measure, device,
                                   need > LEDGER_GRANULE_BYTES ? need - LEDGER_GRANULE_BYTES : 0);
        if (r == CUDA_SUCCESS)
                r = measure_end(&measure, real_cuda.cuLibraryGetModule(&module, library),
                                pair_key(library, context), (uint64_t)(uintptr_t)context,
                                HOLDING_MODULE);
        real_cuda.cuCtxPopCurrent_v2(&popped);
        return r == CUDA_ERROR_OUT_OF_MEMORY ? r : CUDA_SUCCESS;
}

CUresult library_charge_load(CUlibrary library, uint64_t need_bytes)
{
        CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

        lock_take(&known.lock);
        if (known.library_count < LIBRARIES) {
                known.libraries[known.library_count].library = library;
                known.libraries[known.library_count++].need_bytes = need_bytes;
                r = CUDA_SUCCESS;
        }
        for (unsigned i = 0; r == CUDA_SUCCESS && i < known.context_count; i++)
                r = pair_load(known.library_count - 1, known.contexts[i].context,
                              known.contexts[i].device);
        lock_give(&known.lock);
        return r;
}

CUresult library_charge_unload(cuLibraryUnload_fn *real, CUlibrary library)
{
        lock_take(&known.lock);
        presence_enter();
        CUresult r = real(library);
        for (unsigned i = 0; r == CUDA_SUCCESS && i < known.context_count; i++)
                ledger_release(pair_key(library, known.contexts[i].context));
        presence_leave();
        if (r == CUDA_SUCCESS)
                variable_charge_end(library);
        for (unsigned i = 0; r == CUDA_SUCCESS && i < known.library_count; i++)
                if (known.libraries[i].library == library)
                        known.libraries[i--] = known.libraries[--known.library_count];
        lock_give(&known.lock);
        return r;
}

CUresult library_charge_context(CUcontext context, CUdevice device)
{
        CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

        lock_take(&known.lock);
        if (known.context_count < CONTEXTS) {
                known.contexts[known.context_count].context = context;
                known.contexts[known.context_count++].device = device;
                r = CUDA_SUCCESS;
        }
        for (unsigned i = 0; r == CUDA_SUCCESS && i < known.library_count; i++)
                r = pair_load(i, context, device);
        lock_give(&known.lock);
        return r;
}

void library_charge_context_gone(CUcontext context)
{
        variable_charge_context_gone((uint64_t)(uintptr_t)context);
        lock_take(&known.lock);
        for (unsigned i = 0; i < known.context_count; i++)
                if (known.contexts[i].context == context)
                        known.contexts[i--] = known.contexts[--known.context_count];
        lock_give(&known.lock);
}
