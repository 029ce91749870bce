/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: arguments, limits, and the work a kernel becomes. */
#include "launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "managed.h"
#include "memory.h"
#include "sim_cuda.h"

enum {
        THREADS_PER_BLOCK = 1024,
        BLOCK_DEPTH = 64,
        GRID_SIDE = 65535,
        CLUSTER_BLOCKS = 16,
        CLUSTER_CAPABILITY = 9,
        NOISE_SAMPLES = 12
};

static CUresult buffer_reserve(struct launch_buffer *buffer, size_t size, unsigned char **ret_bytes)
{
        *ret_bytes = buffer->bytes;
        if (size <= sizeof buffer->bytes)
                return CUDA_SUCCESS;
        buffer->large = calloc(1, size);
        *ret_bytes = buffer->large;
        return buffer->large ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

void launch_buffer_done(struct launch_buffer *buffer)
{
        free(buffer->large);
}

static CUresult params_gather(struct launch *launch, void **params, struct launch_buffer *buffer)
{
        const struct function *function = launch->function;
        unsigned char *bytes;
        CUresult r = buffer_reserve(buffer, function->parameter_bytes, &bytes);

        if (r != CUDA_SUCCESS)
                return r;
        for (unsigned i = 0; i < function->parameter_count; i++) {
                const struct function_parameter *parameter = &function->parameters[i];

                if (!params[i])
                        return CUDA_ERROR_INVALID_VALUE;
                memcpy(bytes + parameter->offset, params[i], parameter->size);
        }
        launch->params = bytes;
        launch->params_size = function->parameter_bytes;
        return CUDA_SUCCESS;
}

CUresult launch_set_params(struct launch *launch, void **params, void **extra,
                           struct launch_buffer *buffer)
{
        launch->params = NULL;
        launch->params_size = 0;
        if (params && extra)
                return CUDA_ERROR_INVALID_VALUE;
        if (extra) {
                for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
                        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
                                launch->params = extra[1];
                        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
                                launch->params_size = *(const size_t *)extra[1];
                        else
                                return CUDA_ERROR_INVALID_VALUE;
                }
                if (!launch->params != !launch->params_size)
                        return CUDA_ERROR_INVALID_VALUE;
                return CUDA_SUCCESS;
        }
        if (!launch->function->parameter_count)
                return CUDA_SUCCESS;
        return params ? params_gather(launch, params, buffer) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_dimensions(const struct launch *launch)
{
        const unsigned *grid = launch->grid, *block = launch->block;

        if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2])
                return CUDA_ERROR_INVALID_VALUE;
        if (grid[0] > INT32_MAX || grid[1] > GRID_SIDE || grid[2] > GRID_SIDE)
                return CUDA_ERROR_INVALID_VALUE;
        if (block[0] > THREADS_PER_BLOCK || block[1] > THREADS_PER_BLOCK || block[2] > BLOCK_DEPTH)
                return CUDA_ERROR_INVALID_VALUE;
        if (block[0] * block[1] * block[2] > THREADS_PER_BLOCK)
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

static CUresult check_resources(const struct launch *launch)
{
        const _Atomic int *attributes = launch->function->attributes;
        unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
        int max_threads = attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
        int max_shared = attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];

        if (max_threads > 0 && threads > (unsigned)max_threads)
                return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        if (launch->shared_bytes > (unsigned)max_shared)
                return CUDA_ERROR_INVALID_VALUE;
        return CUDA_SUCCESS;
}

static CUresult check_cluster(const struct context *context, const struct launch *launch)
{
        const unsigned *cluster = launch->cluster;
        uint64_t blocks = (uint64_t)cluster[0] * cluster[1] * cluster[2];

        if (blocks == 1)
                return CUDA_SUCCESS;
        if (device_gpu(context->device)->capability_major < CLUSTER_CAPABILITY)
                return CUDA_ERROR_NOT_SUPPORTED;
        if (!blocks || blocks > CLUSTER_BLOCKS)
                return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        for (unsigned i = 0; i < 3; i++) {
                if (launch->grid[i] % cluster[i])
                        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        }
        return CUDA_SUCCESS;
}

/* All blocks of a cooperative launch are on the GPU at once. */
static CUresult check_cooperative(const struct context *context, const struct launch *launch)
{
        uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
        int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
        int per_sm = 0;
        CUresult r = sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &per_sm, (CUfunction)launch->function, threads, launch->shared_bytes);

        if (r != CUDA_SUCCESS)
                return r;
        if (blocks > (uint64_t)per_sm * launch_sm_count(context))
                return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
        return CUDA_SUCCESS;
}

CUresult launch_check(const struct context *context, const struct launch *launch)
{
        CUresult r = check_dimensions(launch);

        if (r == CUDA_SUCCESS)
                r = check_resources(launch);
        if (r == CUDA_SUCCESS && launch->cluster[0])
                r = check_cluster(context, launch);
        if (r == CUDA_SUCCESS && launch->is_cooperative)
                r = check_cooperative(context, launch);
        return r;
}

unsigned launch_sm_count(const struct context *context)
{
        return context->sm_count ? context->sm_count : device_unit(context->device)->sm_count;
}

/* About normal, mean 0, variance 1: a sum of uniform numbers needs no state but the generator's. */
static double noise_normal(void)
{
        static _Thread_local uint64_t state;
        double sum = -NOISE_SAMPLES / 2.0;

        if (!state)
                state = machine_now_ns(&driver.machine) ^ (uint64_t)(uintptr_t)&state;
        for (unsigned i = 0; i < NOISE_SAMPLES; i++) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                sum += (double)(state >> 11) * 0x1p-53;
        }
        return sum;
}

uint64_t launch_duration_ns(struct context *context, const struct launch *launch)
{
        uint64_t duration =
                function_duration_ns(launch->function, context->device, launch_sm_count(context),
                                     launch->grid, launch->block);
        double sigma = driver.machine.file->header.noise;

        /* Log-normal of the same mean: noise makes no GPU faster. */
        if (sigma > 0)
                duration = (uint64_t)((double)duration *
                                      exp(sigma * noise_normal() - sigma * sigma / 2));
        return duration;
}

void launch_timed_only(struct function *function, const char *reason)
{
        machine_count(&driver.machine, COUNTER_TIMED_ONLY, 1);
        if (atomic_exchange_explicit(&function->is_said, true, memory_order_relaxed))
                return;
        driver_say("kernel '%s' takes time but computes nothing: %s", function->name, reason);
}

CUresult launch_submit(struct stream *stream, const struct launch *launch, struct mark *ret_mark)
{
        struct function *function = launch->function;
        struct context *context = stream->context;
        struct work work = {
                .engine = ENGINE_COMPUTE,
                .delay_ns = driver.machine.file->header.launch_ns,
        };

        machine_count(&driver.machine, COUNTER_LAUNCHES, 1);
        __atomic_fetch_add(&driver.slot->launches, 1, __ATOMIC_RELAXED);
        if (function->has_fixed_duration) {
                work.duration_ns = function->fixed_duration_ns;
        } else if (function->ptx && !function->reason) {
                CUresult r = launch_interpret(context, launch, &work);

                if (r != CUDA_SUCCESS)
                        return r;
        } else {
                const char *reason = function->reason ? function->reason : "it carries no PTX";

                launch_timed_only(function, reason);
                work.duration_ns = launch_duration_ns(context, launch) +
                                   managed_touch(context, launch->params, launch->params_size);
        }
        return work_submit(stream, &work, ret_mark);
}
