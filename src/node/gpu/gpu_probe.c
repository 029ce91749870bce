/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the driver once a second, and hears of its events in between. */
#include "gpu_probe.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "gpu_health.h"

enum {
        WAIT_MS = 1000,
        AGAIN_MS = 5000,
        JOIN_MS = 10,
        STACK_BYTES = 512 << 10,
        SAMPLES_MOST = 128,
};

/* What the thread knows while the driver is up. */
struct session {
        struct nvml nvml;
        struct gpu_set set;
        struct gpu_health health[GPUS_MOST];
        nvmlEventSet_t events;
        bool has_events; /* not every GPU and driver has them */
};

static void keep(struct gpu_probe *probe, const struct gpu_set *set, const struct err *e)
{
        pthread_mutex_lock(&probe->lock);
        probe->has_set = set;
        if (set)
                probe->set = *set;
        else
                probe->e = *e;
        pthread_mutex_unlock(&probe->lock);
}

static void ring(struct gpu_probe *probe)
{
        const uint64_t one = 1;

        if (write(probe->news_fd, &one, sizeof one) < 0)
                return; /* full: the reader has not taken the last one, and will take this */
}

static void post(struct gpu_probe *probe, const struct gpu_set *set, const struct err *e)
{
        keep(probe, set, e);
        atomic_store(&probe->has_news, true);
        ring(probe);
}

bool gpu_probe_take(struct gpu_probe *probe, struct gpu_set *ret_set, struct err *ret_e)
{
        bool has_set;

        pthread_mutex_lock(&probe->lock);
        has_set = probe->has_set;
        if (has_set)
                *ret_set = probe->set;
        else
                *ret_e = probe->e;
        pthread_mutex_unlock(&probe->lock);
        return has_set;
}

uint64_t gpu_probe_processes(struct gpu_probe *probe, struct vec *ret_processes)
{
        pthread_mutex_lock(&probe->lock);
        const uint64_t sampled_ns = probe->sampled_ns;
        for (size_t i = 0; i < probe->processes.count; i++)
                vec_push(ret_processes, vec_at(&probe->processes, i));
        pthread_mutex_unlock(&probe->lock);
        return sampled_ns;
}

/* The driver is asked without the lock: it may hang. */
static void keep_processes(struct gpu_probe *probe, const struct session *session)
{
        struct vec seen = VEC_OF(struct gpu_process), before;

        gpu_process_read(&session->nvml, &session->set, &seen);
        pthread_mutex_lock(&probe->lock);
        before = probe->processes;
        probe->processes = seen;
        probe->sampled_ns = clock_now_ns();
        pthread_mutex_unlock(&probe->lock);
        vec_done(&before);
}

uint64_t gpu_probe_beat_ns(struct gpu_probe *probe)
{
        return atomic_load(&probe->beat_ns);
}

static void beat(struct gpu_probe *probe)
{
        atomic_store(&probe->beat_ns, clock_now_ns());
}

static void nap(struct gpu_probe *probe, unsigned ms)
{
        const struct timespec tenth = { .tv_nsec = 100 * NS_PER_MS };

        for (unsigned i = 0; i < ms / 100 && !atomic_load(&probe->is_ending); i++) {
                nanosleep(&tenth, NULL);
                beat(probe);
        }
}

static void listen_to(struct session *session)
{
        const unsigned long long kinds = NVML_EVENT_XID | NVML_EVENT_DOUBLE_BIT_ECC;

        session->has_events = session->nvml.events_create(&session->events) == NVML_SUCCESS;
        for (unsigned i = 0; session->has_events && i < session->set.count; i++) {
                nvmlDevice_t device;

                if (session->nvml.handle(session->set.gpus[i].index, &device) == NVML_SUCCESS)
                        session->nvml.events_register(device, kinds, session->events);
        }
}

/* One event, or the period passes. */
static void take_event(struct session *session, struct gpu_probe *probe)
{
        nvmlEventData_t event = { 0 };
        unsigned index;

        if (!session->has_events)
                return nap(probe, WAIT_MS);
        if (session->nvml.events_wait(session->events, &event, WAIT_MS) != NVML_SUCCESS)
                return;
        if (event.eventType == NVML_EVENT_XID && gpu_health_xid_is_programs(event.eventData))
                return;
        if (session->nvml.index(event.device, &index) != NVML_SUCCESS)
                return; /* lost: it does not answer either */
        for (unsigned i = 0; i < session->set.count; i++)
                if (session->set.gpus[i].index == index)
                        gpu_health_trouble(&session->health[i], clock_now_ns());
}

/* A rate is of the driver's last sixth of a second or so; samples are of the second that processes are told of. */
static bool read_samples(const struct nvml *nvml, nvmlDevice_t device, double *ret_percent)
{
        nvmlSample_t samples[SAMPLES_MOST];
        unsigned count = SAMPLES_MOST;
        nvmlValueType_t type;
        double sum = 0;

        if (!nvml->samples ||
            nvml->samples(device, NVML_GPU_UTILIZATION_SAMPLES, gpu_process_second_us(), &type,
                          &count, samples) != NVML_SUCCESS ||
            type != NVML_VALUE_TYPE_UNSIGNED_INT || !count || count > SAMPLES_MOST)
                return false;
        for (unsigned i = 0; i < count; i++)
                sum += samples[i].sampleValue.uiVal;
        *ret_percent = sum / count < 100 ? sum / count : 100;
        return true;
}

/* false: it does not answer. A GPU in MIG mode does not say how busy it is, nor do its MIG devices. */
static bool read_use(const struct nvml *nvml, struct gpu *gpu)
{
        nvmlUtilization_t busy = { 0 };
        nvmlMemory_t memory;
        nvmlDevice_t device;

        if (nvml->handle(gpu->index, &device) != NVML_SUCCESS ||
            nvml->memory(device, &memory) != NVML_SUCCESS)
                return false;
        gpu->is_busy_told = nvml->utilization(device, &busy) == NVML_SUCCESS;
        gpu->used_bytes = memory.used;
        gpu->busy_percent = busy.gpu;
        gpu->is_busy_second = gpu->is_busy_told && read_samples(nvml, device, &gpu->busy_percent);
        return true;
}

/* Asks each GPU; true: one is in another state than before. */
static bool sample(struct session *session, const struct gpu_probe *probe)
{
        bool has_changed = gpu_set_read_parts(&session->nvml, &session->set);

        for (unsigned i = 0; i < session->set.count; i++) {
                struct gpu *gpu = &session->set.gpus[i];
                bool is_healthy;

                if (!read_use(&session->nvml, gpu))
                        gpu_health_trouble(&session->health[i], clock_now_ns());
                is_healthy = gpu_health_is_good(&session->health[i], probe->quiet_ms * NS_PER_MS,
                                                clock_now_ns());
                has_changed |= is_healthy != gpu->is_healthy;
                gpu->is_healthy = is_healthy;
        }
        return has_changed;
}

static void run(struct gpu_probe *probe, struct session *session)
{
        listen_to(session);
        post(probe, &session->set, NULL);
        while (!atomic_load(&probe->is_ending)) {
                take_event(session, probe);
                if (sample(session, probe))
                        post(probe, &session->set, NULL);
                else
                        keep(probe, &session->set, NULL);
                keep_processes(probe, session);
                ring(probe);
                beat(probe);
        }
        if (session->has_events)
                session->nvml.events_free(session->events);
}

static int open_driver(struct gpu_probe *probe, struct session *session, struct err *e)
{
        nvmlReturn_t started;
        int r;

        if (!nvml_load(&session->nvml))
                return err_set(e, -ENOENT, "the driver's libnvidia-ml.so.1 was not found");
        started = session->nvml.init();
        if (started != NVML_SUCCESS)
                return err_set(e, -EIO, "the driver does not start (NVML error %d)", (int)started);
        r = gpu_set_read(&session->nvml, probe->exclude, &session->set, e);
        if (r < 0)
                session->nvml.shutdown();
        return r;
}

static void *probe_main(void *argument)
{
        struct gpu_probe *probe = argument;

        while (!atomic_load(&probe->is_ending)) {
                struct session session = { 0 };
                struct err e = { 0 };

                beat(probe);
                if (open_driver(probe, &session, &e) == 0) {
                        run(probe, &session);
                        session.nvml.shutdown();
                } else {
                        post(probe, NULL, &e);
                        nap(probe, AGAIN_MS);
                }
        }
        return NULL;
}

int gpu_probe_start(struct gpu_probe *probe, int news_fd, const char *exclude, unsigned quiet_ms)
{
        pthread_attr_t attributes;
        sigset_t all, before;
        int r;

        probe->news_fd = news_fd;
        probe->exclude = exclude;
        probe->quiet_ms = quiet_ms;
        pthread_mutex_init(&probe->lock, NULL);
        probe->processes = (struct vec)VEC_OF(struct gpu_process);
        beat(probe);
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        sigfillset(&all); /* signals are the loop's */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&probe->thread, &attributes, probe_main, probe);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return -r;
}

bool gpu_probe_stop(struct gpu_probe *probe, unsigned seconds)
{
        const struct timespec pause = { .tv_nsec = JOIN_MS * (long)NS_PER_MS };
        const uint64_t until_ns = clock_now_ns() + seconds * NS_PER_S;

        atomic_store(&probe->is_ending, true);
        /* Not until a time of the wall clock, which may jump. */
        while (pthread_tryjoin_np(probe->thread, NULL) != 0) {
                if (clock_now_ns() >= until_ns)
                        return false;
                nanosleep(&pause, NULL);
        }
        pthread_mutex_destroy(&probe->lock);
        vec_done(&probe->processes);
        return true;
}
