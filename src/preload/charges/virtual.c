/* SPDX-License-Identifier: Apache-2.0 */
/* virtual: the bound on the GPU is kept by advice. Left alone, the driver would bring managed pages
 * onto the GPU as kernels touch them, and let them use all that is free there. So the bytes charged
 * to the host prefer the host and are mapped for the devices: kernels reach them over the link, and
 * they stay. The bytes charged to the GPU prefer the GPU. */
#include "virtual.h"

#include "gate_memory.h"
#include "gate_timeslice.h"
#include "gate_virtual.h"
#include "limits.h"
#include "managed_memory.h"
#include "own_figure.h"
#include "presence.h"
#include "real.h"
#include "refusal.h"
#include "stream.h"
#include "virtual_advice.h"
#include "virtual_heat.h"

static bool is_limited(int ordinal)
{
        int device_index = devices_index(ordinal);

        return device_index < 0 || limits_bytes((unsigned)device_index) != UINT64_MAX;
}

bool virtual_has_rivals(int ordinal)
{
        for (int i = 0; i < devices_count(); i++)
                if (i != ordinal && is_limited(i))
                        return true;
        return false;
}

bool virtual_keeps(const struct target *target)
{
        return virtual_has_rivals(target->ordinal) ||
               (target->device_index >= 0 && limits_virtual_bytes((unsigned)target->device_index) &&
                gate_timeslice_applies((unsigned)target->device_index));
}

/* Where bytes charged to the GPU may lie: there, if all others reach it; else pages would move to
 * whoever touches them. */
static int home_of(int ordinal)
{
        for (int i = 0; i < devices_count(); i++) {
                int can = 0;
                if (i != ordinal && is_limited(i) &&
                    (real_cuda.cuDeviceCanAccessPeer(&can, i, ordinal) != CUDA_SUCCESS || !can))
                        return -1;
        }
        return ordinal;
}

/* The bytes that are charged to the GPU. With one GPU the driver may move those of managed memory as
 * it likes; with several they stay. */
static CUresult device_part_advise(const struct virtual_range *range, size_t bytes)
{
        if (!bytes || (!range->is_fallback && !range->is_steady))
                return CUDA_SUCCESS;
        CUresult r = managed_advise(range->address, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                    range->home < 0 ? CU_DEVICE_CPU : range->home);
        if (r == CUDA_SUCCESS && range->is_steady)
                r = virtual_advice_map(range->address, bytes, range->ordinal);
        return r;
}

/* Fails where the driver cannot keep managed memory in its place (before Pascal, on Windows): there
 * is no virtual memory then. */
static CUresult range_advise(const struct virtual_range *range)
{
        uint64_t on_device =
                range->device_bytes < range->bytes ? range->device_bytes : range->bytes;
        CUdeviceptr remainder = range->address + on_device;
        size_t remainder_bytes = range->bytes - on_device;
        CUresult r = device_part_advise(range, on_device);

        if (r != CUDA_SUCCESS || !remainder_bytes)
                return r;
        return virtual_advice_host(remainder, remainder_bytes, range->ordinal);
}

static void range_settle_on(struct virtual_range *range, const struct target *target)
{
        range->ordinal = target->ordinal;
        range->context = target->context;
        range->is_steady = virtual_has_rivals(target->ordinal);
        range->home = range->is_steady ? home_of(target->ordinal) : target->ordinal;
}

/* Charges, allocates and notes the range; the caller has filled in what it is for. */
static CUresult range_make(struct virtual_range *range, const struct target *target, size_t bytes,
                           unsigned flags, CUdeviceptr *ret_address)
{
        CUdeviceptr address = 0;
        CUresult r = gate_virtual_admit(target->device_index, bytes, range);

        if (r != CUDA_SUCCESS)
                return r;
        range_settle_on(range, target);
        r = real_cuda.cuMemAllocManaged ? real_cuda.cuMemAllocManaged(&address, bytes, flags)
                                        : CUDA_ERROR_NOT_SUPPORTED;
        const bool is_drivers = r == CUDA_ERROR_OUT_OF_MEMORY;
        range->address = address;
        if (r == CUDA_SUCCESS && range_advise(range) != CUDA_SUCCESS)
                r = CUDA_ERROR_OUT_OF_MEMORY;
        r = gate_virtual_settle(range, r);
        if (r == CUDA_SUCCESS && range->host_bytes && gate_timeslice_applies(range->device_index))
                virtual_heat_start();
        if (r == CUDA_SUCCESS)
                *ret_address = address;
        else if (address)
                real_cuda.cuMemFree_v2(address);
        if (is_drivers)
                refusal_tell(target->device_index, bytes, REFUSAL_DRIVER);
        else if (r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_ERROR_OUT_OF_MEMORY)
                r = gate_memory_refuse(target->device_index, bytes); /* there is no second way */
        return r;
}

/* Managed memory that is charged to the GPU in full. A driver that takes no advice moves no pages between GPUs
 * either; but what passes for device memory has to stay there. */
static CUresult range_keep(const struct target *target, struct charge *charge, size_t bytes,
                           CUdeviceptr address, bool is_fallback)
{
        struct virtual_range range = { .address = address,
                                       .bytes = bytes,
                                       .device_bytes = charge->bytes,
                                       .device_index = charge->device_index,
                                       .is_fallback = is_fallback };

        ledger_rename(charge, REGION_MANAGED);
        range_settle_on(&range, target);
        const CUresult r = range_advise(&range);
        return gate_virtual_settle(&range, is_fallback ? r : CUDA_SUCCESS);
}

/* By itself: a refusal where there is no virtual memory costs a few nanoseconds, no more. */
static __attribute__((noinline)) CUresult fallback_make(const struct target *target, size_t bytes,
                                                        CUdeviceptr *ret_address)
{
        struct virtual_range range = { .is_fallback = true };

        return range_make(&range, target, bytes, CU_MEM_ATTACH_GLOBAL, ret_address);
}

CUresult virtual_alloc(const struct target *target, size_t bytes, CUdeviceptr *ret_address)
{
        if (target->device_index < 0 || !limits_virtual_bytes((unsigned)target->device_index))
                return gate_memory_refuse(target->device_index, bytes);
        return fallback_make(target, bytes, ret_address);
}

/* What others hold for good cannot be pushed off the GPU: beyond the remainder, new memory would thrash in it. Of what
 * is charged to us some may not have come there yet. */
static bool is_there_space(const struct target *target, size_t bytes)
{
        const unsigned device_index = (unsigned)target->device_index;
        const uint64_t wanted = ledger_used_bytes(device_index) + bytes;
        size_t free_bytes, total_bytes;
        uint64_t own_bytes = 0;

        if (real_cuda.cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_SUCCESS)
                return false;
        if (wanted <= free_bytes + gate_timeslice_others_bytes(device_index))
                return true;
        return own_figure(target->ordinal, &own_bytes) &&
               wanted <= free_bytes + own_bytes + gate_timeslice_others_bytes(device_index);
}

/* Where it would have to stay on the host, device memory is better. */
static bool is_movable(const struct target *target, size_t bytes)
{
        return target->device_index >= 0 && bytes > LEDGER_GRANULE_BYTES &&
               limits_virtual_bytes((unsigned)target->device_index) &&
               real_cuda.cuMemAllocManaged &&
               gate_timeslice_applies((unsigned)target->device_index) &&
               home_of(target->ordinal) == target->ordinal;
}

CUresult virtual_alloc_movable(const struct target *target, size_t bytes, CUdeviceptr *ret_address)
{
        CUdeviceptr address = 0;
        struct charge charge;

        if (!ret_address || !is_movable(target, bytes))
                return CUDA_ERROR_NOT_SUPPORTED;
        if (!is_there_space(target, bytes))
                return CUDA_ERROR_OUT_OF_MEMORY;
        CUresult r = gate_memory_try(target->device_index, target->context, bytes, &charge);
        if (r != CUDA_SUCCESS || !charge.is_counted)
                return r == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : r;
        r = real_cuda.cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
        if (r != CUDA_SUCCESS) {
                gate_memory_settle(&charge, r, 0);
                return CUDA_ERROR_NOT_SUPPORTED;
        }
        if (range_keep(target, &charge, bytes, address, true) == CUDA_SUCCESS) {
                *ret_address = address;
                return CUDA_SUCCESS;
        }
        real_cuda.cuMemFree_v2(address);
        return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult virtual_alloc_managed(const struct target *target, size_t bytes, unsigned flags,
                               CUdeviceptr *ret_address)
{
        struct virtual_range range = { 0 };

        return range_make(&range, target, bytes, flags, ret_address);
}

CUresult virtual_keep(const struct target *target, struct charge *charge, size_t bytes,
                      CUdeviceptr address)
{
        return charge->is_counted ? range_keep(target, charge, bytes, address, false)
                                  : CUDA_SUCCESS;
}

/* What would serve a stream-ordered request as it is. */
static bool is_alike(const struct virtual_range *freed, void *closure)
{
        const struct virtual_range *wanted = closure;

        return freed->bytes == wanted->bytes && freed->ordinal == wanted->ordinal &&
               freed->context == wanted->context;
}

static bool range_reuse(struct virtual_range *range, CUstream stream, CUdeviceptr *ret_address)
{
        struct virtual_range freed;

        if (!virtual_range_is_any() || !virtual_range_take_freed(is_alike, range, &freed))
                return false;
        CUevent event = (CUevent)(uintptr_t)freed.event;
        bool is_ordered = real_cuda.cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS;
        if (is_ordered) {
                real_cuda.cuEventDestroy_v2(event);
                freed.event = 0;
                freed.pool = range->pool;
                *ret_address = freed.address;
        }
        virtual_range_add(&freed); /* its row is still there */
        return is_ordered;
}

CUresult virtual_alloc_async(const struct target *target, size_t bytes, CUmemoryPool pool,
                             CUstream stream, CUdeviceptr *ret_address)
{
        struct virtual_range range = { .is_fallback = true,
                                       .bytes = bytes,
                                       .ordinal = target->ordinal,
                                       .context = target->context,
                                       .pool = (uint64_t)(uintptr_t)pool };
        CUresult r = CUDA_SUCCESS;
        CUcontext popped;

        bool is_pushed = stream_push_context(stream);
        if (!range_reuse(&range, stream, ret_address))
                r = range_make(&range, target, bytes, CU_MEM_ATTACH_GLOBAL, ret_address);
        if (is_pushed)
                real_cuda.cuCtxPopCurrent_v2(&popped);
        return r;
}

/* Freed in a stream's order already: to the program there is nothing at the address any more. */
static bool is_freed(CUdeviceptr address, CUresult *ret_result)
{
        struct virtual_range range;

        *ret_result = CUDA_ERROR_INVALID_VALUE;
        return virtual_range_find(address, 1, &range) && range.event;
}

bool virtual_free(cuMemFree_v2_fn *real, CUdeviceptr address, CUresult *ret_result)
{
        struct virtual_range range;

        if (!virtual_range_is_any())
                return false;
        presence_enter();
        /* Taken out before: once the driver has the address back, another thread may get it. */
        virtual_heat_hold();
        bool is_ours = virtual_range_take(address, &range);
        virtual_heat_release();
        if (is_ours) {
                *ret_result = real(address);
                if (*ret_result == CUDA_SUCCESS) {
                        virtual_range_refund(&range, ledger_region());
                        gate_timeslice_tell_memory(range.device_index);
                } else {
                        virtual_range_add(&range);
                }
        }
        presence_leave();
        return is_ours || is_freed(address, ret_result);
}

static CUresult event_record(CUstream stream, CUevent *ret_event)
{
        CUcontext popped;

        bool is_pushed = stream_push_context(stream);
        CUresult r = real_cuda.cuEventCreate(ret_event, CU_EVENT_DISABLE_TIMING);
        if (r == CUDA_SUCCESS) {
                r = real_cuda.cuEventRecord(*ret_event, stream);
                if (r != CUDA_SUCCESS)
                        real_cuda.cuEventDestroy_v2(*ret_event);
        }
        if (is_pushed)
                real_cuda.cuCtxPopCurrent_v2(&popped);
        return r;
}

bool virtual_free_async(CUdeviceptr address, CUstream stream, CUresult *ret_result)
{
        struct virtual_range range;
        CUevent event = NULL;

        if (!virtual_range_is_any())
                return false;
        if (!virtual_range_take(address, &range))
                return is_freed(address, ret_result);
        /* A graph can free only what it allocated. */
        *ret_result = stream_is_captured(stream) ? CUDA_ERROR_INVALID_VALUE
                                                 : event_record(stream, &event);
        if (*ret_result == CUDA_SUCCESS)
                range.event = (uint64_t)(uintptr_t)event;
        virtual_range_add(&range); /* its row is still there */
        return true;
}

static bool is_done(const struct virtual_range *freed, void *closure)
{
        (void)closure;
        return real_cuda.cuEventQuery((CUevent)(uintptr_t)freed->event) == CUDA_SUCCESS;
}

static bool range_return(const struct virtual_range *range)
{
        CUcontext popped;

        if (real_cuda.cuCtxPushCurrent_v2((CUcontext)(uintptr_t)range->context) != CUDA_SUCCESS)
                return false;
        CUresult r = real_cuda.cuMemFree_v2(range->address);
        real_cuda.cuCtxPopCurrent_v2(&popped);
        if (r != CUDA_SUCCESS)
                return false;
        real_cuda.cuEventDestroy_v2((CUevent)(uintptr_t)range->event);
        virtual_range_refund(range, ledger_region());
        return true;
}

static bool done_take(struct virtual_range *ret_range)
{
        if (!virtual_range_is_any())
                return false;
        virtual_heat_hold();
        const bool is_taken = virtual_range_take_freed(is_done, NULL, ret_range);
        virtual_heat_release();
        return is_taken;
}

bool virtual_reap(void)
{
        struct virtual_range range;
        bool has_reaped = false;

        while (done_take(&range)) {
                if (!range_return(&range)) { /* a capture forbids it: later */
                        virtual_range_add(&range);
                        break;
                }
                has_reaped = true;
        }
        return has_reaped;
}
