/* Contexts: what they take is measured; what is held in one goes with it. */
#include "devices.h"
#include "limits.h"
#include "measure.h"
#include "presence.h"
#include "real.h"

static uint64_t key_of(const void *handle)
{
        return (uint64_t)(uintptr_t)handle;
}

/* Before a context is made. Exempt contexts are not counted, on devices that the share names. */
static CUresult create_begin(struct measure *measure, CUdevice device)
{
        int account = devices_account(device);

        if (limits_are_set() && account >= 0 && limits_context_is_exempt((unsigned)account)) {
                *measure = (struct measure){ .account = account };
                return CUDA_SUCCESS;
        }
        return measure_begin(measure, device, 0);
}

/* After: a context that does not fit is taken back at once. */
static CUresult create_end(struct measure *measure, CUresult result, CUcontext *context)
{
        uint64_t key = result == CUDA_SUCCESS ? key_of(*context) : 0;
        CUresult r = measure_end(measure, result, key, key, HOLDING_CONTEXT);

        if (result == CUDA_SUCCESS && r != CUDA_SUCCESS) {
                real_cuda.cuCtxDestroy_v2(*context);
                ledger_release_context(key);
        }
        return r;
}

CUresult hook_cuCtxCreate(cuCtxCreate_fn *real, CUcontext *context, unsigned int flags, CUdevice device)
{
        struct measure measure;
        CUresult r = create_begin(&measure, device);

        return r != CUDA_SUCCESS ? r : create_end(&measure, real(context, flags, device), context);
}

CUresult hook_cuCtxCreate_v2(cuCtxCreate_v2_fn *real, CUcontext *context, unsigned int flags,
                             CUdevice device)
{
        struct measure measure;
        CUresult r = create_begin(&measure, device);

        return r != CUDA_SUCCESS ? r : create_end(&measure, real(context, flags, device), context);
}

CUresult hook_cuCtxCreate_v3(cuCtxCreate_v3_fn *real, CUcontext *context,
                             CUexecAffinityParam *parameters, int count, unsigned int flags,
                             CUdevice device)
{
        struct measure measure;
        CUresult r = create_begin(&measure, device);

        if (r != CUDA_SUCCESS)
                return r;
        return create_end(&measure, real(context, parameters, count, flags, device), context);
}

CUresult hook_cuCtxCreate_v4(cuCtxCreate_v4_fn *real, CUcontext *context,
                             CUctxCreateParams *parameters, unsigned int flags, CUdevice device)
{
        struct measure measure;
        CUresult r = create_begin(&measure, device);

        if (r != CUDA_SUCCESS)
                return r;
        return create_end(&measure, real(context, parameters, flags, device), context);
}

CUresult hook_cuCtxDestroy_v2(cuCtxDestroy_v2_fn *real, CUcontext context)
{
        presence_enter();
        CUresult r = real(context);
        if (r == CUDA_SUCCESS && limits_are_set())
                ledger_release_context(key_of(context));
        presence_leave();
        return r;
}

CUresult hook_cuCtxDestroy(cuCtxDestroy_fn *real, CUcontext context)
{
        return hook_cuCtxDestroy_v2((cuCtxDestroy_v2_fn *)real, context);
}

/* Heaps and buffers of a context are device memory. */
CUresult hook_cuCtxSetLimit(cuCtxSetLimit_fn *real, CUlimit limit, size_t value)
{
        struct place place = devices_current();
        struct measure measure;
        size_t before = 0;

        real_cuda.cuCtxGetLimit(&before, limit);
        CUresult r = measure_begin(&measure, place.ordinal, 0);
        if (r != CUDA_SUCCESS)
                return place.context ? r : real(limit, value);
        /* One note per limit and context: a second change is measured against the first. */
        uint64_t key = (place.context << 8 | (uint64_t)limit) | UINT64_C(1) << 63;
        struct holding earlier;
        uint64_t had = holding_take(key, &earlier) ? earlier.bytes : 0;
        r = measure_end(&measure, real(limit, value), key + 1, place.context, HOLDING_CONTEXT);
        struct charge sum = { .account = (unsigned)(place.account < 0 ? 0 : place.account),
                              .context = place.context, .is_counted = true };
        if (holding_take(key + 1, &earlier))
                sum.bytes = had + earlier.bytes;
        else
                sum.bytes = had;
        if (sum.bytes)
                ledger_settle(&sum, key, HOLDING_CONTEXT);
        if (r == CUDA_ERROR_OUT_OF_MEMORY)
                real(limit, before);
        return r;
}

CUresult hook_cuCtxResetPersistingL2Cache(cuCtxResetPersistingL2Cache_fn *real)
{
        return real();
}
