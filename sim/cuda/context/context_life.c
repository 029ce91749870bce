/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a context: charged to the GPU, made usable, and ended with all it held. */
#include "context_life.h"

#include <string.h>

#include "export_slot.h"
#include "library.h"
#include "memory.h"
#include "module.h"
#include "unit_memory.h"
#include "work.h"

static void limits_init(struct context *context)
{
        context->limits[CU_LIMIT_STACK_SIZE] = 1024;
        context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 6656 << 10;
        context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
        context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
        context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
        context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

static CUresult device_open(struct device *device)
{
        if (device->channel != UINT32_MAX)
                return CUDA_SUCCESS;
        int r = timeline_channel(&driver.machine, driver.slot, device->unit, &device->channel);
        if (r == 0)
                return CUDA_SUCCESS;
        /* The GPU may be empty: say that it is not the one that is full. */
        driver_say("the machine cannot take another process: %s", strerror(-r));
        return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult context_charge(struct context *context, uint64_t bytes)
{
        struct device *device = context->device;

        if (unit_charge_context(&driver.machine, device->unit, driver.slot, bytes) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        driver.slot->units[device->unit].computes |= 1u << device->compute_instance;
        context->charged_bytes = bytes;
        return CUDA_SUCCESS;
}

static uint64_t round_up_granule(uint64_t bytes)
{
        return (bytes + MACHINE_GRANULE_BYTES - 1) & ~(MACHINE_GRANULE_BYTES - 1);
}

uint64_t context_bytes(const struct device *device)
{
        return round_up_granule(device_gpu(device)->context_bytes);
}

static CUresult device_check(const struct device *device)
{
        const struct machine_gpu *gpu = device_gpu(device);

        if (atomic_load(&gpu->is_lost) || gpu->compute_mode == CU_COMPUTEMODE_PROHIBITED)
                return CUDA_ERROR_DEVICE_UNAVAILABLE;
        return CUDA_SUCCESS;
}

CUresult context_activate(struct context *context, uint64_t bytes)
{
        struct device *device = context->device;
        CUresult r = device_check(device);

        if (r == CUDA_SUCCESS)
                r = device_open(device);
        if (r == CUDA_SUCCESS)
                r = context_charge(context, bytes);
        if (r != CUDA_SUCCESS)
                return r;
        context->legacy = NULL;
        r = stream_new(context, CU_STREAM_DEFAULT, 0, &context->legacy);
        if (r != CUDA_SUCCESS) {
                unit_release_context(&driver.machine, device->unit, driver.slot,
                                     context->charged_bytes);
                return r;
        }
        context->legacy->is_legacy = true;
        limits_init(context);
        context->limit_bytes = 0;
        context->peers = 0;
        atomic_store(&context->error, 0);
        context->is_active = true;
        return CUDA_SUCCESS;
}

static void streams_free(struct context *context)
{
        while (context->streams)
                stream_free(context->streams);
        stream_free(context->legacy);
}

/* The object stays: threads may still have it on their stacks. */
void context_end(struct context *context)
{
        if (!context->is_active)
                return;
        context_wait(context);
        export_storage_context_done(context);
        library_context_done(context);
        module_context_done(context);
        memory_context_done(context);
        context->is_active = false;
        streams_free(context);
        unit_release(&driver.machine, context->device->unit, driver.slot, context->limit_bytes);
        unit_release_context(&driver.machine, context->device->unit, driver.slot,
                             context->charged_bytes);
        if (!context->is_primary)
                context_unlist(context);
}

CUresult context_set_limit(struct context *context, CUlimit limit, size_t value)
{
        uint64_t before = context->limits[limit];

        /* Heap and printf buffers are device memory of the context. */
        if (limit == CU_LIMIT_MALLOC_HEAP_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE) {
                uint64_t old_bytes = round_up_granule(before), new_bytes = round_up_granule(value);
                struct device *device = context->device;
                if (new_bytes > old_bytes) {
                        if (unit_charge(&driver.machine, device->unit, driver.slot,
                                        new_bytes - old_bytes) < 0)
                                return CUDA_ERROR_OUT_OF_MEMORY;
                } else {
                        value = before; /* never shrinks, as on hardware */
                        new_bytes = old_bytes;
                }
                context->limit_bytes += new_bytes - old_bytes;
        }
        context->limits[limit] = value;
        return CUDA_SUCCESS;
}
