/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: attributes, and how long a launch takes. */
#include "function.h"

#include <stdlib.h>

#include "occupancy.h"
#include "scope.h"

enum {
        SHARED_DEFAULT_BYTES = 48 << 10, /* a block's shared memory without asking for more */
        /* The time model, sim/docs/simulator.md. */
        LAUNCH_NS = 2000,
        WAVE_NS = 1000,
        THREAD_CYCLES = 128, /* of one core */
};

static struct {
        pthread_mutex_t lock;
        struct function *pool;
} functions = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct function *pool_take(void)
{
        autounlock pthread_mutex_t *held = scope_lock(&functions.lock);
        struct function *function = functions.pool;

        if (function)
                functions.pool = function->next;
        return function;
}

struct function *function_new(struct module *module, const struct machine_gpu *gpu,
                              const struct program_kernel *kernel, const struct ptx_kernel *ptx)
{
        struct function *function = pool_take();

        if (!function)
                function = malloc(sizeof *function);
        if (!function)
                return NULL;
        *function = (struct function){
                .magic = FUNCTION_MAGIC,
                .module = module,
                .name = kernel->name,
                .kernel = kernel,
                .ptx = ptx,
                .reason = ptx ? NULL : "it has no PTX",
                .parameter_count = kernel->parameter_count,
                .parameter_bytes = kernel->parameter_bytes,
                .parameters = kernel->parameters,
        };
        function_attributes(kernel, gpu, function->attributes);
        function->has_fixed_duration = machine_kernel_duration(&driver.machine, kernel->name,
                                                               &function->fixed_duration_ns);
        return function;
}

void function_free(struct function *function)
{
        if (!function)
                return;

        autounlock pthread_mutex_t *held = scope_lock(&functions.lock);

        function->magic = 0;
        function->next = functions.pool;
        functions.pool = function;
}

void function_attributes(const struct program_kernel *kernel, const struct machine_gpu *gpu,
                         _Atomic int ret_attributes[CU_FUNC_ATTRIBUTE_MAX])
{
        const struct program *program = kernel->program;
        unsigned threads = occupancy_max_threads(kernel->registers);
        unsigned device_version = gpu->capability_major * 10 + gpu->capability_minor;
        int shared_left = SHARED_DEFAULT_BYTES - (int)kernel->shared_bytes;

        if (kernel->max_threads && kernel->max_threads < threads)
                threads = kernel->max_threads;
        for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++)
                ret_attributes[i] = 0;
        ret_attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = (int)threads;
        ret_attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = (int)kernel->shared_bytes;
        ret_attributes[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES] = (int)program->const_bytes;
        ret_attributes[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES] = (int)kernel->local_bytes;
        ret_attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = (int)kernel->registers;
        ret_attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] =
                (int)(program->ptx_version ? program->ptx_version : device_version);
        ret_attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] =
                (int)(program->binary_version ? program->binary_version : device_version);
        ret_attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] =
                shared_left > 0 ? shared_left : 0;
        ret_attributes[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
        ret_attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (int)kernel->cluster[0];
        ret_attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT] = (int)kernel->cluster[1];
        ret_attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH] = (int)kernel->cluster[2];
}

CUresult function_set_attribute(_Atomic int attributes[CU_FUNC_ATTRIBUTE_MAX],
                                const struct machine_gpu *gpu, CUfunction_attribute attribute,
                                int value)
{
        int low = 0, high;

        switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
                high = (int)gpu->shared_per_block_optin_bytes -
                       attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
                break;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                low = -1;
                high = 100;
                break;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
                high = gpu->capability_major >= 9 ? 16 : -1;
                break;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
                high = 1;
                break;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
                high = 2;
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        if (value < low || value > high)
                return CUDA_ERROR_INVALID_VALUE;
        attributes[attribute] = value;
        return CUDA_SUCCESS;
}

static unsigned resident_blocks(const struct function *function, const struct machine_gpu *gpu,
                                unsigned threads)
{
        const struct occupancy_need need = {
                .threads = threads,
                .registers = (unsigned)function->attributes[CU_FUNC_ATTRIBUTE_NUM_REGS],
                .static_bytes = (size_t)function->attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES],
        };
        unsigned blocks = occupancy_blocks(gpu, &need);

        return blocks ? blocks : 1;
}

/* Every multiprocessor works through its part of the grid: as long as its cores are busy with all
 * the warps, or as long as the blocks take one wave after the other, whichever is more. */
uint64_t function_duration_ns(const struct function *function, const struct device *device,
                              unsigned sm_count, const unsigned grid[3], const unsigned block[3])
{
        typedef unsigned __int128 wide;
        const struct machine_gpu *gpu = device_gpu(device);
        const wide limit = (wide)1 << 60; /* 36 years */

        if (function->has_fixed_duration)
                return function->fixed_duration_ns;

        unsigned threads = block[0] * block[1] * block[2];
        wide blocks = (wide)grid[0] * grid[1] * grid[2];
        wide per_sm = (blocks + sm_count - 1) / (sm_count ? sm_count : 1);
        wide warps = per_sm * ((threads + OCCUPANCY_WARP - 1) / OCCUPANCY_WARP);
        wide cycles = warps * OCCUPANCY_WARP * THREAD_CYCLES / gpu->cores_per_sm;
        wide busy_ns = cycles * 1000 / gpu->sm_clock_mhz;
        unsigned resident = resident_blocks(function, gpu, threads);
        wide wave_ns = (per_sm + resident - 1) / resident * WAVE_NS;
        wide total = LAUNCH_NS + (busy_ns > wave_ns ? busy_ns : wave_ns);

        return (uint64_t)(total < limit ? total : limit);
}
