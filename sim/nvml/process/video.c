/* SPDX-License-Identifier: Apache-2.0 */
/* video: sessions that encode and capture. The video engines of this machine never have work; with
 * VGPU_SIM_VIDEO every process on the GPU counts as one that has a session of each kind, and that uses
 * them for half of the time that it computes. */
#include <stdlib.h>

#include "load.h"
#include "process_list.h"

enum { FIRST_FPS = 30, LATENCY_US = 4000 };

/* Each session is faster than the one before it. */
static void fill_encoder(const struct process *process, size_t index, void *item)
{
        *(nvmlEncoderSessionInfo_t *)item = (nvmlEncoderSessionInfo_t){
                .sessionId = (unsigned)index + 1,
                .pid = process->pid,
                .hResolution = 1920,
                .vResolution = 1080,
                .averageFps = FIRST_FPS * (unsigned)(index + 1),
                .averageLatency = LATENCY_US,
        };
}

static void fill_capture(const struct process *process, size_t index, void *item)
{
        *(nvmlFBCSessionInfo_t *)item = (nvmlFBCSessionInfo_t){
                .sessionId = (unsigned)index + 1,
                .pid = process->pid,
                .hResolution = 1920,
                .vResolution = 1080,
                .averageFPS = FIRST_FPS * (unsigned)(index + 1),
                .averageLatency = LATENCY_US,
        };
}

/* The processes that have sessions. The caller ends the vec. */
static nvmlReturn_t sessions_list(nvmlDevice_t device, const void *result, struct vec *ret_list)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, result, &t);

        return r == NVML_SUCCESS && getenv("VGPU_SIM_VIDEO") ? process_list(&t, ret_list) : r;
}

/* Asked without a buffer for them, the number alone. */
static nvmlReturn_t sessions_give(nvmlDevice_t device, unsigned *count, void *items,
                                  size_t item_bytes,
                                  void fill(const struct process *, size_t index, void *item))
{
        struct vec list = VEC_OF(struct process);
        nvmlReturn_t r = sessions_list(device, count, &list);

        if (r == NVML_SUCCESS) {
                if (items && *count < list.count)
                        r = NVML_ERROR_INSUFFICIENT_SIZE;
                *count = (unsigned)list.count;
        }
        for (size_t i = 0; r == NVML_SUCCESS && items && i < list.count; i++)
                fill(vec_at(&list, i), i, (char *)items + i * item_bytes);
        vec_done(&list);
        return r;
}

/* How many, and the mean of their speeds. */
static nvmlReturn_t sessions_mean(nvmlDevice_t device, const void *result, unsigned *ret_count,
                                  unsigned *ret_fps)
{
        struct vec list = VEC_OF(struct process);
        nvmlReturn_t r = sessions_list(device, result, &list);

        *ret_count = (unsigned)list.count;
        *ret_fps = list.count ? FIRST_FPS * (*ret_count + 1) / 2 : 0;
        vec_done(&list);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int *count,
                                              nvmlEncoderSessionInfo_t *infos)
{
        return sessions_give(device, count, infos, sizeof *infos, fill_encoder);
}

nvmlReturn_t sim_nvmlDeviceGetFBCSessions(nvmlDevice_t device, unsigned int *count,
                                          nvmlFBCSessionInfo_t *infos)
{
        return sessions_give(device, count, infos, sizeof *infos, fill_capture);
}

nvmlReturn_t sim_nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned int *count,
                                           unsigned int *fps, unsigned int *latency_us)
{
        unsigned sessions, mean;
        nvmlReturn_t r = sessions_mean(device, count, &sessions, &mean);

        if (r != NVML_SUCCESS)
                return r;
        if (!fps || !latency_us)
                return NVML_ERROR_INVALID_ARGUMENT;
        *count = sessions;
        *fps = mean;
        *latency_us = sessions ? LATENCY_US : 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetFBCStats(nvmlDevice_t device, nvmlFBCStats_t *stats)
{
        unsigned sessions, mean;
        nvmlReturn_t r = sessions_mean(device, stats, &sessions, &mean);

        if (r == NVML_SUCCESS)
                *stats = (nvmlFBCStats_t){ .sessionsCount = sessions,
                                           .averageFPS = mean,
                                           .averageLatency = sessions ? LATENCY_US : 0 };
        return r;
}

unsigned load_video_percent(unsigned compute_percent)
{
        return getenv("VGPU_SIM_VIDEO") ? compute_percent / 2 : 0;
}
