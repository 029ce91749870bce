/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that compute: the interpreter as a task of a stream, and what it says afterwards. */
#include "launch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_heap.h"
#include "kernel_print.h"
#include "managed.h"
#include "memory.h"
#include "ptx.h"
#include "texture.h"

struct launch_task {
        struct context *context;
        struct launch launch; /* its params are the bytes below */
        uint64_t duration_ns; /* by the model */
        bool reads_clock;
        _Alignas(16) unsigned char params[];
};

/* Where each device's clock was left. Only the worker moves a clock. */
static struct {
        uint64_t clock_ns[DRIVER_DEVICES];
} launch_run;

static void print_append(void *closure, const char *bytes, size_t length)
{
        const struct context *context = closure;

        kernel_print_append(bytes, length, context->limits[CU_LIMIT_PRINTF_FIFO_SIZE]);
}

static void complaint_append(void *closure, const char *bytes, size_t length)
{
        const struct context *context = closure;

        kernel_print_complain(bytes, length, context->limits[CU_LIMIT_PRINTF_FIFO_SIZE]);
}

static CUresult outcome_result(struct function *function, const struct ptx_outcome *outcome)
{
        switch (outcome->status) {
        case PTX_DONE:
                machine_count(&driver.machine, COUNTER_INTERPRETED, 1);
                return CUDA_SUCCESS;
        case PTX_BUDGET:
                machine_count(&driver.machine, COUNTER_OVER_BUDGET, 1);
                launch_timed_only(function, "its launch needs more instructions than the budget");
                return CUDA_SUCCESS;
        case PTX_UNSUPPORTED:
                launch_timed_only(function, outcome->reason);
                return CUDA_SUCCESS;
        case PTX_CANCELLED:
                return CUDA_SUCCESS;
        case PTX_ILLEGAL_ADDRESS:
                return CUDA_ERROR_ILLEGAL_ADDRESS;
        case PTX_MISALIGNED:
                return CUDA_ERROR_MISALIGNED_ADDRESS;
        case PTX_ASSERT:
                return CUDA_ERROR_ASSERT;
        case PTX_TRAP:
        case PTX_LAUNCH_FAILURE:
                break;
        }
        return CUDA_ERROR_LAUNCH_FAILED;
}

/* Kernels of one device see a clock that never goes back. */
static uint64_t clock_begin(const struct device *device)
{
        uint64_t now = machine_now_ns(&driver.machine);
        uint64_t last = launch_run.clock_ns[device->ordinal];

        return now > last ? now : last;
}

static unsigned blocks_per_sm(const struct machine_gpu *gpu, const struct launch *launch)
{
        unsigned threads = launch->block[0] * launch->block[1] * launch->block[2];
        unsigned blocks = gpu->threads_per_sm / threads;

        if (blocks > gpu->blocks_per_sm)
                blocks = gpu->blocks_per_sm;
        return blocks ? blocks : 1;
}

static uint64_t launch_threads(const struct launch *launch)
{
        uint64_t threads = 1;

        for (unsigned i = 0; i < 3; i++)
                threads *= (uint64_t)launch->grid[i] * launch->block[i];
        return threads;
}

/* A launch as big as one that was beyond the budget is not begun: a loop of them would take as long
 * as if they were interpreted. */
static bool launch_is_hopeless(const struct launch *launch)
{
        uint64_t beyond = atomic_load(&launch->function->beyond_threads);

        return beyond && launch_threads(launch) >= beyond;
}

static void launch_note_beyond(const struct launch *launch)
{
        uint64_t threads = launch_threads(launch);
        uint64_t beyond = atomic_load(&launch->function->beyond_threads);

        if (!beyond || threads < beyond)
                atomic_store(&launch->function->beyond_threads, threads);
}

static uint64_t heap_take(void *closure, uint64_t bytes)
{
        return kernel_heap_alloc(closure, bytes);
}

/* What no kernel was given is not given back. */
static void heap_give(void *closure, uint64_t address)
{
        (void)kernel_heap_free(closure, address);
}

static CUresult task_interpret(struct launch_task *task, uint64_t *ret_spent_ns)
{
        struct context *context = task->context;
        const struct launch *launch = &task->launch;
        const struct machine_gpu *gpu = device_gpu(context->device);
        struct ptx_memory memory = { .resolve = memory_resolve,
                                     .heap_alloc = heap_take,
                                     .heap_free = heap_give,
                                     .closure = context };
        struct ptx_outcome outcome = { .status = PTX_LAUNCH_FAILURE };
        struct ptx_launch run = {
                .kernel = launch->function->ptx,
                .dynamic_shared_bytes = launch->shared_bytes,
                .params = task->params,
                .params_size = launch->params_size,
                .memory = &memory,
                .images = &texture_images,
                .print = print_append,
                .complain = complaint_append,
                .print_closure = context,
                .clock_base_ns = clock_begin(context->device),
                .sm_count = launch_sm_count(context),
                .clock_mhz = gpu->sm_clock_mhz,
                .blocks_per_sm = blocks_per_sm(gpu, launch),
                .budget_instructions = driver.machine.file->header.interpret_budget,
                .is_cooperative = launch->is_cooperative,
        };

        memcpy(run.grid, launch->grid, sizeof run.grid);
        memcpy(run.block, launch->block, sizeof run.block);
        memcpy(run.cluster, launch->cluster, sizeof run.cluster);
        if (launch_is_hopeless(launch))
                outcome.status = PTX_BUDGET;
        else if (ptx_launch(&run, &outcome) < 0)
                return CUDA_ERROR_LAUNCH_FAILED;
        *ret_spent_ns = outcome.clock_spent_ns;
        if (outcome.status == PTX_BUDGET)
                launch_note_beyond(launch);
        if (task->reads_clock)
                launch_run.clock_ns[context->device->ordinal] =
                        run.clock_base_ns + outcome.clock_spent_ns;
        return outcome_result(launch->function, &outcome);
}

static CUresult task_run(void *closure, uint64_t *ret_duration_ns)
{
        struct launch_task *task = closure;
        uint64_t spent_ns = 0;
        CUresult r = (CUresult)atomic_load(&task->context->error);

        /* Nothing runs on a context that a kernel broke. */
        if (r == CUDA_SUCCESS)
                r = task_interpret(task, &spent_ns);
        if (task->reads_clock && ret_duration_ns)
                *ret_duration_ns = task->duration_ns + spent_ns;
        if (r != CUDA_SUCCESS) {
                int none = 0;

                atomic_compare_exchange_strong(&task->context->error, &none, (int)r);
        }
        return r;
}

CUresult launch_interpret(struct context *context, const struct launch *launch,
                          struct work *ret_work)
{
        struct launch_task *task = malloc(sizeof *task + launch->params_size);

        if (!task)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *task = (struct launch_task){
                .context = context,
                .launch = *launch,
                .reads_clock = ptx_kernel_footprint(launch->function->ptx)->reads_clock,
        };
        if (launch->params_size)
                memcpy(task->params, launch->params, launch->params_size);
        task->launch.params = task->params;
        task->duration_ns = launch_duration_ns(context, launch) +
                            managed_touch(context, launch->params, launch->params_size);
        ret_work->duration_ns = task->reads_clock ? MACHINE_NS_UNKNOWN : task->duration_ns;
        ret_work->run = task_run;
        ret_work->free = free;
        ret_work->closure = task;
        return CUDA_SUCCESS;
}
