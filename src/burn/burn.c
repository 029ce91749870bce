/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU under load: allocate, find the size of a launch, launch, compare. */
#include "burn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "burn_kernel.h"
#include "clock.h"
#include "scope.h"

enum {
        ROUNDS_MOST = 1024, /* 32768 multiply-adds per thread */
        BLOCKS_PER_SM = 8,
        SAMPLE_BLOCKS = 2,
        SAMPLE_ROUNDS = 3,
        LAUNCH_HOST_NS = 20000000, /* what a launch may cost this process: it is computed there */
        BATCH_NS = 250000000,      /* between two looks at the results */
        BATCH_MOST = 512,
};

/* Launches that are under way together, with the kernels that check the last of them. */
struct batch {
        CUevent done;
        uint64_t count;
        uint64_t hold_ns; /* how long the driver held the host while it launched them */
};

struct work {
        struct burn_gpu *gpu;
        const struct burn_driver *driver;
        CUcontext context;
        CUmodule module;
        CUfunction load, sample, compare;
        CUstream stream;
        struct batch batches[2]; /* one is checked while the GPU works on the other */
        CUdeviceptr a, b, results, errors, sampled;
        uint64_t result_count; /* how many results fit; the first is what others must equal */
        unsigned blocks, blocks_most, rounds, compare_blocks;
        size_t element_bytes;
        uint64_t next; /* index of the next result */
        uint64_t launch_ns;
        uint32_t errors_seen; /* of the GPU's own count */
};

/* Negative when the driver refused; the sentence is in the GPU's error. */
static int check(struct work *work, CUresult result, const char *what)
{
        if (result == CUDA_SUCCESS)
                return 0;
        return err_set(&work->gpu->error, -EIO, "cannot %s: %s", what,
                       burn_driver_error(work->driver, result));
}

static uint64_t result_bytes(const struct work *work)
{
        return (uint64_t)work->blocks_most * KERNEL_BLOCK * work->element_bytes;
}

static CUdeviceptr result_offset(const struct work *work, uint64_t number)
{
        return work->results + number % work->result_count * result_bytes(work);
}

static int work_open(struct work *work)
{
        const struct burn_driver *driver = work->driver;
        const bool is_double = work->gpu->plan->is_double;
        CUdevice device;
        int sms = 0, r;

        if ((r = check(work, driver->cuDeviceGet(&device, work->gpu->ordinal), "find the GPU")) ||
            (r = check(work, driver->cuDevicePrimaryCtxRetain(&work->context, device),
                       "create a context")) ||
            (r = check(work, driver->cuCtxSetCurrent(work->context), "use the context")) ||
            (r = check(work,
                       driver->cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                                    device),
                       "count the processors")) ||
            (r = check(work, driver->cuModuleLoadData(&work->module, kernel_ptx),
                       "load the kernels")) ||
            (r = check(work,
                       driver->cuModuleGetFunction(&work->load, work->module,
                                                   is_double ? "vgpu_burn_d" : "vgpu_burn"),
                       "find a kernel")) ||
            (r = check(work,
                       driver->cuModuleGetFunction(&work->sample, work->module,
                                                   is_double ? "vgpu_burn_sample_d"
                                                             : "vgpu_burn_sample"),
                       "find a kernel")) ||
            (r = check(work,
                       driver->cuModuleGetFunction(&work->compare, work->module,
                                                   is_double ? "vgpu_burn_compare_d"
                                                             : "vgpu_burn_compare"),
                       "find a kernel")) ||
            (r = check(work, driver->cuStreamCreate(&work->stream, CU_STREAM_NON_BLOCKING),
                       "create a stream")) ||
            (r = check(work, driver->cuEventCreate(&work->batches[0].done, CU_EVENT_BLOCKING_SYNC),
                       "create an event")) ||
            (r = check(work, driver->cuEventCreate(&work->batches[1].done, CU_EVENT_BLOCKING_SYNC),
                       "create an event")))
                return r;
        work->blocks_most = (unsigned)sms * BLOCKS_PER_SM;
        work->element_bytes = is_double ? sizeof(double) : sizeof(float);
        return 0;
}

static int work_fill(struct work *work)
{
        const size_t count = (size_t)work->blocks_most * KERNEL_BLOCK;
        autofree void *host = malloc(count * work->element_bytes);
        int r;

        if (!host)
                return err_set(&work->gpu->error, -ENOMEM, "out of memory");
        for (int input = 0; input < 2; input++) {
                for (size_t i = 0; i < count; i++) {
                        const double value = input ? kernel_input_b(i) : kernel_input_a(i);

                        if (work->gpu->plan->is_double)
                                ((double *)host)[i] = value;
                        else
                                ((float *)host)[i] = (float)value;
                }
                r = check(work,
                          work->driver->cuMemcpyHtoD_v2(input ? work->b : work->a, host,
                                                        count * work->element_bytes),
                          "copy to the GPU");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int work_allocate(struct work *work)
{
        const struct burn_plan *plan = work->gpu->plan;
        const struct burn_driver *driver = work->driver;
        const uint64_t inputs = 2 * result_bytes(work);
        size_t free_bytes, total_bytes;
        uint64_t bytes;
        int r = check(work, driver->cuMemGetInfo_v2(&free_bytes, &total_bytes),
                      "ask for free memory");

        if (r < 0)
                return r;
        bytes = plan->memory_bytes ? plan->memory_bytes
                                   : (uint64_t)((double)free_bytes * plan->memory_percent / 100);
        work->result_count = bytes > inputs ? (bytes - inputs) / result_bytes(work) : 0;
        if (work->result_count < 2)
                return err_set(&work->gpu->error, -ENOMEM,
                               "%lluMiB of memory are too little: vgpu-burn needs at least %lluMiB",
                               (unsigned long long)(bytes >> 20),
                               (unsigned long long)((2 * inputs >> 20) + 1));
        bytes = work->result_count * result_bytes(work);
        if ((r = check(work, driver->cuMemAlloc_v2(&work->a, result_bytes(work)), "allocate")) ||
            (r = check(work, driver->cuMemAlloc_v2(&work->b, result_bytes(work)), "allocate")) ||
            (r = check(work, driver->cuMemAlloc_v2(&work->errors, sizeof(uint32_t)), "allocate")) ||
            (r = check(work,
                       driver->cuMemAlloc_v2(&work->sampled,
                                             SAMPLE_BLOCKS * KERNEL_BLOCK * work->element_bytes),
                       "allocate")) ||
            (r = check(work, driver->cuMemAlloc_v2(&work->results, bytes), "allocate")) ||
            (r = check(work, driver->cuMemsetD8_v2(work->errors, 0, sizeof(uint32_t)), "clear")))
                return r;
        return work_fill(work);
}

static CUresult launch(struct work *work, CUfunction function, unsigned blocks, unsigned rounds,
                       CUdeviceptr out)
{
        void *params[] = { &out, &work->a, &work->b, &rounds };

        return work->driver->cuLaunchKernel(function, blocks, 1, 1, KERNEL_BLOCK, 1, 1, 0,
                                            work->stream, params, NULL);
}

/* A small launch whose every result the host knows to the bit. */
static int sample_launch(struct work *work)
{
        return check(work, launch(work, work->sample, SAMPLE_BLOCKS, SAMPLE_ROUNDS, work->sampled),
                     "launch");
}

static int sample_check(struct work *work)
{
        enum { COUNT = SAMPLE_BLOCKS * KERNEL_BLOCK };
        union {
                float f[COUNT];
                double d[COUNT];
        } got;
        const int r = check(
                work,
                work->driver->cuMemcpyDtoH_v2(&got, work->sampled, COUNT * work->element_bytes),
                "copy from the GPU");

        if (r < 0)
                return r;
        for (size_t i = 0; i < COUNT; i++) {
                const double a = kernel_input_a(i), b = kernel_input_b(i);

                if (work->gpu->plan->is_double) {
                        const double expected = kernel_expected_d(a, b, SAMPLE_ROUNDS);

                        work->gpu->errors += memcmp(&got.d[i], &expected, sizeof expected) != 0;
                } else {
                        const float expected = kernel_expected((float)a, (float)b, SAMPLE_ROUNDS);

                        work->gpu->errors += memcmp(&got.f[i], &expected, sizeof expected) != 0;
                }
        }
        return 0;
}

static int sample_first(struct work *work)
{
        int r;

        if ((r = sample_launch(work)) ||
            (r = check(work, work->driver->cuStreamSynchronize(work->stream), "wait")))
                return r;
        return sample_check(work);
}

static uint64_t process_spent_ns(void)
{
        struct timespec spent;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
        return (uint64_t)spent.tv_sec * NS_PER_S + (uint64_t)spent.tv_nsec;
}

static int launch_measure(struct work *work, uint64_t *ret_spent_ns)
{
        const uint64_t begin_ns = clock_now_ns(), spent_ns = process_spent_ns();
        int r;

        if ((r = check(work,
                       launch(work, work->load, work->blocks, work->rounds, result_offset(work, 0)),
                       "launch")) ||
            (r = check(work, work->driver->cuStreamSynchronize(work->stream), "wait")))
                return r;
        work->launch_ns = clock_now_ns() - begin_ns;
        *ret_spent_ns = process_spent_ns() - spent_ns;
        return 0;
}

static void launch_grow(struct work *work)
{
        if (work->blocks == work->blocks_most)
                work->rounds *= 4;
        else if (work->blocks * 4 < work->blocks_most)
                work->blocks *= 4;
        else
                work->blocks = work->blocks_most;
}

/* Grows the launch until it fills the GPU. On a GPU that computes in software, which is this process,
 * a full one would take for ever. What a launch takes by the clock says nothing of that: under a
 * limit of compute it waits. Other threads make a launch look costly once, not several times in a
 * row. */
static int calibrate(struct work *work)
{
        uint64_t spent_ns = 0;
        bool is_costly = false;
        int r;

        work->blocks = 1;
        work->rounds = 1;
        r = launch_measure(work, &spent_ns); /* the first one may load code */
        while (r == 0 && !is_costly &&
               (work->blocks < work->blocks_most || work->rounds < ROUNDS_MOST)) {
                const uint64_t before_ns = spent_ns;

                launch_grow(work);
                is_costly = true;
                for (int round = 0; round < 3 && r == 0 && is_costly; round++) {
                        r = launch_measure(work, &spent_ns);
                        is_costly = spent_ns >= LAUNCH_HOST_NS && spent_ns > before_ns * 3 / 2;
                }
        }
        work->compare_blocks = work->blocks < 16 ? work->blocks : 16;
        work->next = 1;
        return r;
}

/* Compares a part of a result with the first one; the part moves on from batch to batch. */
static int compare_launch(struct work *work, uint64_t number)
{
        const uint64_t parts = work->blocks / work->compare_blocks;
        const uint64_t offset =
                number % parts * work->compare_blocks * KERNEL_BLOCK * work->element_bytes;
        CUdeviceptr x = result_offset(work, 0) + offset, y = result_offset(work, number) + offset;
        void *params[] = { &x, &y, &work->errors };

        return check(work,
                     work->driver->cuLaunchKernel(work->compare, work->compare_blocks, 1, 1,
                                                  KERNEL_BLOCK, 1, 1, 0, work->stream, params,
                                                  NULL),
                     "launch");
}

/* The GPU only ever adds to its count, so a comparison under way is not lost. */
static int compare_check(struct work *work)
{
        uint32_t errors = 0;
        const int r =
                check(work, work->driver->cuMemcpyDtoH_v2(&errors, work->errors, sizeof errors),
                      "copy from the GPU");

        if (r == 0) {
                work->gpu->errors += errors - work->errors_seen;
                work->errors_seen = errors;
        }
        return r;
}

/* As many launches as there is time for, up to a batch; `ahead` are still to be done before them. */
static int batch_launch(struct work *work, struct batch *batch, uint64_t ahead)
{
        const uint64_t now_ns = clock_now_ns() + ahead * work->launch_ns;
        const uint64_t end_ns = work->gpu->plan->end_ns;
        const uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
        const uint64_t span_ns = left_ns < BATCH_NS ? left_ns : BATCH_NS;
        const uint64_t begin_ns = clock_now_ns();
        int r = 0;

        batch->count = span_ns / (work->launch_ns + 1) + 1;
        if (batch->count > BATCH_MOST)
                batch->count = BATCH_MOST;
        for (uint64_t i = 0; i < batch->count && r == 0; i++, work->next++) {
                if (work->next % work->result_count == 0)
                        work->next++; /* the first result is what others must equal */
                r = check(work,
                          launch(work, work->load, work->blocks, work->rounds,
                                 result_offset(work, work->next)),
                          "launch");
        }
        batch->hold_ns = clock_now_ns() - begin_ns;
        if (r < 0 || (r = compare_launch(work, work->next - 1)) || (r = sample_launch(work)))
                return r;
        return check(work, work->driver->cuEventRecord(batch->done, work->stream),
                     "record an event");
}

/* What a launch takes: under a limit of compute the host is held when it launches the next batch,
 * else it waits here, for this one. A batch of few launches may pass in no time: that says little
 * of the next. */
static void batch_measure(struct work *work, const struct batch *batch, const struct batch *next,
                          uint64_t begin_ns)
{
        const uint64_t now_ns = clock_now_ns();
        const uint64_t least_ns = work->launch_ns / 2;

        if (next && next->hold_ns > now_ns - begin_ns)
                work->launch_ns = next->hold_ns / next->count;
        else
                work->launch_ns = (now_ns - work->gpu->last_ns) / batch->count;
        if (work->launch_ns < least_ns)
                work->launch_ns = least_ns;
        work->gpu->last_ns = now_ns;
}

/* `next` is under way; NULL: none is. */
static int batch_finish(struct work *work, const struct batch *batch, const struct batch *next)
{
        struct burn_gpu *gpu = work->gpu;
        const uint64_t begin_ns = clock_now_ns();
        int r = check(work, work->driver->cuEventSynchronize(batch->done), "wait");

        if (r < 0)
                return r;
        gpu->launches += batch->count;
        gpu->flop += batch->count * work->blocks * KERNEL_BLOCK * work->rounds *
                     KERNEL_FMA_PER_ROUND * 2;
        batch_measure(work, batch, next, begin_ns);
        r = compare_check(work);
        return r < 0 ? r : sample_check(work);
}

/* Two batches at a time: a GPU that waits while the host looks at results is not busy. */
static int burn_batches(struct work *work)
{
        const struct burn_plan *plan = work->gpu->plan;
        struct batch *now = &work->batches[0], *next = &work->batches[1];
        int r = batch_launch(work, now, 0);

        while (r == 0 && clock_now_ns() < plan->end_ns && !atomic_load(plan->is_stopped)) {
                struct batch *done = now;

                if ((r = batch_launch(work, next, now->count)) ||
                    (r = batch_finish(work, now, next)))
                        return r;
                now = next;
                next = done;
        }
        return r < 0 ? r : batch_finish(work, now, NULL);
}

static int burn(struct work *work)
{
        int r;

        if ((r = work_open(work)) || (r = work_allocate(work)) || (r = sample_first(work)) ||
            (r = calibrate(work)))
                return r;
        work->gpu->begin_ns = work->gpu->last_ns = clock_now_ns();
        return burn_batches(work);
}

static void work_close(struct work *work)
{
        const struct burn_driver *driver = work->driver;
        const CUdeviceptr pointers[] = { work->a, work->b, work->results, work->errors,
                                         work->sampled };
        CUdevice device;

        for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++)
                if (pointers[i])
                        driver->cuMemFree_v2(pointers[i]);
        for (size_t i = 0; i < sizeof work->batches / sizeof work->batches[0]; i++)
                if (work->batches[i].done)
                        driver->cuEventDestroy_v2(work->batches[i].done);
        if (work->stream)
                driver->cuStreamDestroy_v2(work->stream);
        if (work->module)
                driver->cuModuleUnload(work->module);
        if (work->context && driver->cuDeviceGet(&device, work->gpu->ordinal) == CUDA_SUCCESS)
                driver->cuDevicePrimaryCtxRelease_v2(device);
}

void *burn_gpu_run(void *gpu)
{
        struct work work = { .gpu = gpu, .driver = ((struct burn_gpu *)gpu)->plan->driver };

        burn(&work);
        work_close(&work);
        work.gpu->is_done = true;
        return NULL;
}
