/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_heat: see virtual_heat.h. What is on the GPU and what is on the host exchange their places in equal parts,
 * so that no bound has to be asked. */
#include "virtual_heat.h"

#include <string.h>

#include "limits_compute.h"
#include "lock.h"
#include "managed_memory.h"
#include "stream.h"
#include "virtual_advice.h"
#include "virtual_range.h"

enum { PARAMS_MOST = 4096 };

_Atomic bool virtual_heat_switch;

void virtual_heat_start(void)
{
        if (virtual_heat_is_on() || !real_cuda.cuFuncGetParamInfo)
                return;
        limits_compute_watch();
        atomic_store(&virtual_heat_switch, true);
}

static void address_note(struct virtual_heat *heat, uint64_t address, bool is_captured)
{
        if (virtual_range_use(address, is_captured) && heat->count < VIRTUAL_HEAT_MOST)
                heat->addresses[heat->count++] = address;
}

/* A parameter may be a structure with addresses in it. */
static void bytes_note(struct virtual_heat *heat, const void *bytes, size_t size, bool is_captured)
{
        uint64_t address;

        for (size_t at = 0; at + sizeof address <= size; at += sizeof address) {
                memcpy(&address, (const char *)bytes + at, sizeof address);
                if (address)
                        address_note(heat, address, is_captured);
        }
}

/* The handle may be of either kind. */
static bool param_size(CUfunction kernel, size_t index, size_t *ret_size)
{
        size_t offset;

        return real_cuda.cuFuncGetParamInfo(kernel, index, &offset, ret_size) == CUDA_SUCCESS ||
               (real_cuda.cuKernelGetParamInfo &&
                real_cuda.cuKernelGetParamInfo((CUkernel)kernel, index, &offset, ret_size) ==
                        CUDA_SUCCESS);
}

static void extra_note(struct virtual_heat *heat, void **extra, bool is_captured)
{
        const void *bytes = NULL;
        size_t size = 0;

        for (; *extra != CU_LAUNCH_PARAM_END; extra += 2)
                if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
                        bytes = extra[1];
                else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
                        size = *(const size_t *)extra[1];
                else
                        return;
        if (bytes)
                bytes_note(heat, bytes, size, is_captured);
}

bool virtual_heat_note(CUstream stream, CUfunction kernel, void **params, void **extra,
                       struct virtual_heat *ret_heat)
{
        const bool is_captured = stream_is_captured(stream);
        size_t size;

        ret_heat->count = 0;
        for (size_t i = 0; params && i < PARAMS_MOST && param_size(kernel, i, &size); i++)
                if (params[i])
                        bytes_note(ret_heat, params[i], size, is_captured);
        if (!params && extra)
                extra_note(ret_heat, extra, is_captured);
        return ret_heat->count && !is_captured;
}

bool virtual_heat_note_graph(CUstream stream, struct virtual_heat *ret_heat)
{
        ret_heat->count = virtual_range_use_graphs(ret_heat->addresses, VIRTUAL_HEAT_MOST);
        return ret_heat->count && !stream_is_captured(stream);
}

static void exchange(const struct virtual_exchange *move, CUstream stream)
{
        /* What is on the GPU is used there until it has moved; what comes is reached over the link until then, because
         * it is still mapped. */
        virtual_advice_host(move->cold, move->cold_bytes, move->ordinal);
        managed_prefetch(move->cold, move->cold_bytes, CU_DEVICE_CPU, stream);
        managed_advise(move->hot, move->hot_bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                       move->ordinal);
        managed_prefetch(move->hot, move->hot_bytes, move->ordinal, stream);
}

/* The last exchange. The next one waits until it is over: on another stream it might come first, and what was brought
 * onto the GPU last would stay there beside what has taken its place. No stream waits for it: it may be behind work
 * that waits for this stream. */
static struct {
        struct lock lock;
        CUevent event;     /* after it */
        CUcontext context; /* the event's */
        bool is_pending;
} last_exchange;

static void event_drop(void)
{
        if (last_exchange.event)
                real_cuda.cuEventDestroy_v2(last_exchange.event);
        last_exchange.event = NULL;
        last_exchange.is_pending = false;
}

/* For streams of the current context. */
static bool event_is_there(void)
{
        CUcontext context = NULL;

        real_cuda.cuCtxGetCurrent(&context);
        if (last_exchange.event && last_exchange.context == context)
                return true;
        event_drop();
        last_exchange.context = context;
        if (real_cuda.cuEventCreate(&last_exchange.event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
                return true;
        last_exchange.event = NULL;
        return false;
}

static bool is_over(void)
{
        if (last_exchange.is_pending)
                last_exchange.is_pending =
                        real_cuda.cuEventQuery(last_exchange.event) == CUDA_ERROR_NOT_READY;
        return !last_exchange.is_pending;
}

static bool exchange_all(const struct virtual_heat *heat, CUstream stream)
{
        struct virtual_exchange move;
        bool has_moved = false;

        for (unsigned i = 0; i < heat->count; i++)
                while (virtual_range_exchange(heat->addresses[i], &move)) {
                        exchange(&move, stream);
                        has_moved = true;
                }
        return has_moved;
}

void virtual_heat_move(const struct virtual_heat *heat, CUstream stream)
{
        CUcontext popped;

        if (!lock_try(&last_exchange.lock))
                return;
        const bool is_pushed = stream_push_context(stream);
        if (is_over() && event_is_there() && exchange_all(heat, stream))
                last_exchange.is_pending =
                        real_cuda.cuEventRecord(last_exchange.event, stream) == CUDA_SUCCESS;
        if (is_pushed)
                real_cuda.cuCtxPopCurrent_v2(&popped);
        lock_give(&last_exchange.lock);
}

void virtual_heat_hold(void)
{
        lock_take(&last_exchange.lock);
}

void virtual_heat_release(void)
{
        lock_give(&last_exchange.lock);
}

void virtual_heat_context_ends(uint64_t context)
{
        if (!virtual_heat_is_on())
                return;
        lock_take(&last_exchange.lock);
        if ((uint64_t)(uintptr_t)last_exchange.context == context)
                event_drop();
        lock_give(&last_exchange.lock);
}

void virtual_heat_forked(void)
{
        memset(&last_exchange, 0, sizeof last_exchange);
}
