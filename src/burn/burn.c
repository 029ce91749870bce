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
        LAUNCH_WALL_NS = 20000000, /* a launch this long keeps a GPU busy; no need for more */
        BATCH_NS = 500000000,      /* between two looks at the results; the GPU rests meanwhile */
        BATCH_MOST = 512,
};

struct work {
        struct burn_gpu *gpu;
        const struct burn_driver *driver;
        CUcontext context;
        CUmodule module;
        CUfunction load, sample, compare;
        CUstream stream;
        CUevent done;
        CUdeviceptr a, b, results, errors, sampled;
        uint64_t result_count; /* places for results; the first is what others must equal */
        unsigned blocks, blocks_most, rounds, compare_blocks;
        size_t element_bytes;
        uint64_t next; /* place of the next result */
        uint64_t launch_ns;
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

static CUdeviceptr result_place(const struct work *work, uint64_t number)
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
            (r = check(work, driver->cuEventCreate(&work->done, CU_EVENT_BLOCKING_SYNC),
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
                               "%lluMiB of memory are too little: it "
                               "takes at least %lluMiB",
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
        work->gpu->held_bytes = bytes + inputs;
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
static int sample_check(struct work *work)
{
        enum { COUNT = SAMPLE_BLOCKS * KERNEL_BLOCK };
        union {
                float f[COUNT];
                double d[COUNT];
        } got;
        int r;

        if ((r = check(work,
                       launch(work, work->sample, SAMPLE_BLOCKS, SAMPLE_ROUNDS, work->sampled),
                       "launch")) ||
            (r = check(work, work->driver->cuStreamSynchronize(work->stream), "wait")) ||
            (r = check(work,
                       work->driver->cuMemcpyDtoH_v2(&got, work->sampled,
                                                     COUNT * work->element_bytes),
                       "copy from the GPU")))
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

static int launch_measure(struct work *work)
{
        const uint64_t begin_ns = clock_now_ns();
        int r;

        if ((r = check(work,
                       launch(work, work->load, work->blocks, work->rounds, result_place(work, 0)),
                       "launch")) ||
            (r = check(work, work->driver->cuStreamSynchronize(work->stream), "wait")))
                return r;
        work->launch_ns = clock_now_ns() - begin_ns;
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

/* Grows the launch until it is long enough and more work takes more time, or fills the GPU: on a GPU
 * that computes in software a full one would take for ever. A busy host makes a launch look long
 * once, not several times in a row. */
static int calibrate(struct work *work)
{
        bool is_long = false;
        int r;

        work->blocks = 1;
        work->rounds = 1;
        r = launch_measure(work); /* the first one may load code */
        while (r == 0 && !is_long &&
               (work->blocks < work->blocks_most || work->rounds < ROUNDS_MOST)) {
                const uint64_t before_ns = work->launch_ns;

                launch_grow(work);
                is_long = true;
                for (int turn = 0; turn < 3 && r == 0 && is_long; turn++) {
                        r = launch_measure(work);
                        is_long = work->launch_ns >= LAUNCH_WALL_NS &&
                                  work->launch_ns > before_ns * 3 / 2;
                }
        }
        work->compare_blocks = work->blocks < 16 ? work->blocks : 16;
        work->next = 1;
        return r;
}

/* Compares a part of a result with the first one; the part moves on from batch to batch. */
static int compare(struct work *work, uint64_t number)
{
        const uint64_t parts = work->blocks / work->compare_blocks;
        const uint64_t offset =
                number % parts * work->compare_blocks * KERNEL_BLOCK * work->element_bytes;
        CUdeviceptr x = result_place(work, 0) + offset, y = result_place(work, number) + offset;
        void *params[] = { &x, &y, &work->errors };
        uint32_t errors = 0;
        int r;

        if ((r = check(work,
                       work->driver->cuLaunchKernel(work->compare, work->compare_blocks, 1, 1,
                                                    KERNEL_BLOCK, 1, 1, 0, work->stream, params,
                                                    NULL),
                       "launch")) ||
            (r = check(work, work->driver->cuStreamSynchronize(work->stream), "wait")) ||
            (r = check(work, work->driver->cuMemcpyDtoH_v2(&errors, work->errors, sizeof errors),
                       "copy from the GPU")))
                return r;
        if (errors == 0)
                return 0;
        work->gpu->errors += errors;
        return check(work, work->driver->cuMemsetD8_v2(work->errors, 0, sizeof errors), "clear");
}

static int burn_batch(struct work *work)
{
        const uint64_t left_ns = work->gpu->plan->end_ns - clock_now_ns();
        const uint64_t span_ns = left_ns < BATCH_NS ? left_ns : BATCH_NS;
        uint64_t count = span_ns / (work->launch_ns + 1) + 1;
        const uint64_t begin_ns = clock_now_ns();
        int r = 0;

        if (count > BATCH_MOST)
                count = BATCH_MOST;
        for (uint64_t i = 0; i < count && r == 0; i++, work->next++) {
                if (work->next % work->result_count == 0)
                        work->next++; /* the first result is what others must equal */
                r = check(work,
                          launch(work, work->load, work->blocks, work->rounds,
                                 result_place(work, work->next)),
                          "launch");
        }
        if (r < 0 ||
            (r = check(work, work->driver->cuEventRecord(work->done, work->stream),
                       "record an event")) ||
            (r = check(work, work->driver->cuEventSynchronize(work->done), "wait")))
                return r;
        work->launch_ns = (clock_now_ns() - begin_ns) / count;
        work->gpu->launches += count;
        work->gpu->flop +=
                count * work->blocks * KERNEL_BLOCK * work->rounds * KERNEL_FMA_PER_ROUND * 2;
        r = compare(work, work->next - 1);
        return r < 0 ? r : sample_check(work);
}

static int burn(struct work *work)
{
        const struct burn_plan *plan = work->gpu->plan;
        int r;

        if ((r = work_open(work)) || (r = work_allocate(work)) || (r = sample_check(work)) ||
            (r = calibrate(work)))
                return r;
        work->gpu->is_running = true;
        while (r == 0 && clock_now_ns() < plan->end_ns && !atomic_load(plan->is_stopped))
                r = burn_batch(work);
        return r;
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
        if (work->done)
                driver->cuEventDestroy_v2(work->done);
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
