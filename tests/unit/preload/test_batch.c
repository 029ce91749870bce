/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of launches under a limit, with threads and a driver of a few lines: a device that works off
 * what it is given in order. */
#include "batch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "gate_compute.h"
#include "ledger.h"
#include "limits.h"
#include "timeslice.h"
#include "unit.h"

enum { THREADS = 4, EVENTS = 4096 };

/* What the device has been given: it is busy until then. */
static struct {
        pthread_mutex_t lock;
        uint64_t until_ns, busy_ns;
        uint64_t events[EVENTS]; /* when the device comes to each */
        _Atomic unsigned made;
} device = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct real_cuda real_cuda;
_Atomic uint32_t timeslice_number;

void timeslice_take(unsigned device_index, CUstream stream, uint64_t in_flight_ns)
{
        (void)device_index, (void)stream, (void)in_flight_ns;
}

void timeslice_forked(void)
{
}

struct target devices_current(void)
{
        return (struct target){ .context = 7, .ordinal = 0, .device_index = 0 };
}

struct target devices_of_stream(CUstream stream)
{
        (void)stream;
        return devices_current();
}

int devices_count(void)
{
        return 1;
}

static void device_work(uint64_t ns)
{
        pthread_mutex_lock(&device.lock);
        uint64_t now_ns = clock_now_ns();
        device.until_ns = (device.until_ns > now_ns ? device.until_ns : now_ns) + ns;
        device.busy_ns += ns;
        pthread_mutex_unlock(&device.lock);
}

static CUresult event_create(CUevent *event, unsigned int flags)
{
        (void)flags;
        *event = (CUevent)(uintptr_t)(1 + atomic_fetch_add(&device.made, 1) % (EVENTS - 1));
        return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
        (void)stream;
        pthread_mutex_lock(&device.lock);
        uint64_t now_ns = clock_now_ns();
        device.events[(uintptr_t)event] = device.until_ns > now_ns ? device.until_ns : now_ns;
        pthread_mutex_unlock(&device.lock);
        return CUDA_SUCCESS;
}

static uint64_t event_time(CUevent event)
{
        pthread_mutex_lock(&device.lock);
        uint64_t time_ns = device.events[(uintptr_t)event];
        pthread_mutex_unlock(&device.lock);
        return time_ns;
}

static CUresult event_query(CUevent event)
{
        return event_time(event) <= clock_now_ns() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult event_elapsed(float *ms, CUevent from, CUevent to)
{
        *ms = (float)((double)(int64_t)(event_time(to) - event_time(from)) / 1e6);
        return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent event)
{
        (void)event;
        return CUDA_SUCCESS;
}

static CUresult stream_query(CUstream stream)
{
        (void)stream;
        pthread_mutex_lock(&device.lock);
        bool is_idle = device.until_ns <= clock_now_ns();
        pthread_mutex_unlock(&device.lock);
        return is_idle ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult context_get(CUcontext *context)
{
        *context = (CUcontext)(uintptr_t)7;
        return CUDA_SUCCESS;
}

static CUresult context_push(CUcontext context)
{
        return context == (CUcontext)(uintptr_t)7 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static void begin(const char *cores)
{
        char path[64];
        struct err e = { 0 };

        real_cuda.cuEventCreate = event_create;
        real_cuda.cuEventRecord = event_record;
        real_cuda.cuEventQuery = event_query;
        real_cuda.cuEventElapsedTime = event_elapsed;
        real_cuda.cuEventDestroy_v2 = event_destroy;
        real_cuda.cuStreamQuery = stream_query;
        real_cuda.cuCtxGetCurrent = context_get;
        real_cuda.cuCtxPushCurrent_v2 = context_push;
        real_cuda.cuCtxPopCurrent_v2 = context_get;
        snprintf(path, sizeof path, "/tmp/vgpu-test-batch-%d", getpid());
        setenv("VGPU_CORES", cores, 1);
        setenv("VGPU_REGION", path, 1);
        assert_int_equal(limits_start(&e), 0);
        assert_int_equal(ledger_open(limits_region_path(), limits_device_count(), &e), 0);
        unlink(path);
}

static void launch(CUstream stream, uint64_t key, uint64_t ns)
{
        struct admission admission;

        if (batch_pass(stream, key)) {
                device_work(ns);
                return;
        }
        batch_admit(stream, NULL, key, &admission);
        device_work(ns);
        batch_settle(&admission, CUDA_SUCCESS);
}

static void device_wait(void)
{
        while (stream_query(NULL) != CUDA_SUCCESS)
                usleep(1000);
        batch_harvest();
}

static _Atomic bool is_over;

static void *thread_run(void *number)
{
        /* Two streams each, of two kinds of work. */
        CUstream stream = (CUstream)((uintptr_t)number * 4096 + 4096);

        for (unsigned i = 0; !atomic_load(&is_over); i++) {
                launch(stream, 1000 + i % 2, (50 + i % 2 * 50) * NS_PER_US);
                if (i % 50 == 49) {
                        batch_end(stream);
                        batch_harvest();
                }
        }
        batch_end_all(7);
        return NULL;
}

TEST(threads_together_keep_to_the_limit_and_all_is_counted)
{
        pthread_t threads[THREADS];

        begin("40");
        uint64_t begin_ns = clock_now_ns();
        for (uintptr_t i = 0; i < THREADS; i++)
                pthread_create(&threads[i], NULL, thread_run, (void *)i);
        usleep(500000);
        atomic_store(&is_over, true);
        for (unsigned i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        device_wait();
        double load = (double)device.busy_ns * 100 / (double)(clock_now_ns() - begin_ns);
        uint64_t counted = atomic_load(&ledger_region()->file->computes[0].gpu_ns);
        CHECK(load < 50);
        CHECK(load > 1);
        /* A thread off its core between its work and its note is counted with its pause or without. */
        CHECK(counted > device.busy_ns / 2);
        CHECK(counted < device.busy_ns * 2);
}

/* True: the device had nothing left to do when the launch was admitted. */
static bool launch_long(void)
{
        struct admission admission;

        batch_admit(NULL, NULL, 2000, &admission);
        const bool is_idle = stream_query(NULL) == CUDA_SUCCESS;
        device_work(20 * NS_PER_MS);
        batch_settle(&admission, CUDA_SUCCESS);
        return is_idle;
}

enum { LONG_LAUNCHES = 9 };

TEST(work_longer_than_the_bound_is_followed_before_it_ends)
{
        unsigned pauses = 0;

        begin("99");
        launch_long(); /* what it takes is learned */
        device_wait();
        for (unsigned i = 0; i < LONG_LAUNCHES; i++)
                pauses += launch_long();
        CHECK(pauses <= 1 + LONG_LAUNCHES / 2); /* a busy host may wake this thread late, not always */
}

int main(void)
{
        return RUN(CASE(threads_together_keep_to_the_limit_and_all_is_counted),
                   CASE(work_longer_than_the_bound_is_followed_before_it_ends));
}
