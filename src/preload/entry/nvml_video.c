/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's sessions of encoders and of frame capture: the container's own. */
#include <stddef.h>
#include <string.h>

#include "nvml_view.h"

/* What the two kinds of sessions have in common: where their pid and their figures are. */
struct kind {
        size_t stride, pid, fps, latency;
};

static const struct kind encoder = { sizeof(nvmlEncoderSessionInfo_t),
                                     offsetof(nvmlEncoderSessionInfo_t, pid),
                                     offsetof(nvmlEncoderSessionInfo_t, averageFps),
                                     offsetof(nvmlEncoderSessionInfo_t, averageLatency) };
static const struct kind capture = { sizeof(nvmlFBCSessionInfo_t),
                                     offsetof(nvmlFBCSessionInfo_t, pid),
                                     offsetof(nvmlFBCSessionInfo_t, averageFPS),
                                     offsetof(nvmlFBCSessionInfo_t, averageLatency) };

/* The container's own sessions on the GPU. The caller frees the buffer, if it has entries. */
static nvmlReturn_t sessions_own(const struct kind *kind, nvml_list_fn *real, nvmlDevice_t device,
                                 struct nvml_buffer *ret_own)
{
        struct nvml_buffer buffer = { .stride = kind->stride, .pid = kind->pid };
        unsigned count;

        *ret_own = (struct nvml_buffer){ 0 };
        if (!nvml_buffer_make(&buffer))
                return NVML_ERROR_MEMORY;
        count = buffer.count;
        nvmlReturn_t r = real(device, &count, buffer.entries);
        buffer.count = r == NVML_SUCCESS
                               ? nvml_view_keep_own(buffer.entries, count, kind->stride, kind->pid)
                               : 0;
        *ret_own = buffer;
        return r;
}

static void sessions_done(struct nvml_buffer *own)
{
        if (own->entries)
                nvml_buffer_done(own);
}

/* As the library answers: asked without a buffer for them, the number alone. */
static nvmlReturn_t sessions_list(const struct kind *kind, nvml_list_fn *real, nvmlDevice_t device,
                                  unsigned *count, void *items)
{
        struct nvml_buffer own;

        if (!count || !nvml_view_is_limited())
                return real(device, count, items);
        nvmlReturn_t r = sessions_own(kind, real, device, &own);
        if (r == NVML_SUCCESS) {
                if (items && *count < own.count)
                        r = NVML_ERROR_INSUFFICIENT_SIZE;
                else if (items)
                        memcpy(items, own.entries, own.count * kind->stride);
                *count = own.count;
        }
        sessions_done(&own);
        return r;
}

static unsigned sessions_mean(const struct kind *kind, const struct nvml_buffer *own, size_t offset)
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < own->count; i++) {
                unsigned figure;
                memcpy(&figure, (const char *)own->entries + i * kind->stride + offset,
                       sizeof figure);
                sum += figure;
        }
        return own->count ? (unsigned)(sum / own->count) : 0;
}

nvmlReturn_t hook_nvmlDeviceGetEncoderSessions(nvmlDeviceGetEncoderSessions_fn *real,
                                               nvmlDevice_t device, unsigned int *count,
                                               nvmlEncoderSessionInfo_t *sessions)
{
        return sessions_list(&encoder, (nvml_list_fn *)(void *)real, device, count, sessions);
}

nvmlReturn_t hook_nvmlDeviceGetFBCSessions(nvmlDeviceGetFBCSessions_fn *real, nvmlDevice_t device,
                                           unsigned int *count, nvmlFBCSessionInfo_t *sessions)
{
        return sessions_list(&capture, (nvml_list_fn *)(void *)real, device, count, sessions);
}

nvmlReturn_t hook_nvmlDeviceGetEncoderStats(nvmlDeviceGetEncoderStats_fn *real, nvmlDevice_t device,
                                            unsigned int *count, unsigned int *fps,
                                            unsigned int *latency)
{
        nvmlReturn_t r = real(device, count, fps, latency);
        struct nvml_buffer own;

        if (r != NVML_SUCCESS || !nvml_view_is_limited())
                return r;
        sessions_own(&encoder, (nvml_list_fn *)(void *)real_nvml.nvmlDeviceGetEncoderSessions,
                     device, &own);
        *count = own.count;
        *fps = sessions_mean(&encoder, &own, encoder.fps);
        *latency = sessions_mean(&encoder, &own, encoder.latency);
        sessions_done(&own);
        return r;
}

nvmlReturn_t hook_nvmlDeviceGetFBCStats(nvmlDeviceGetFBCStats_fn *real, nvmlDevice_t device,
                                        nvmlFBCStats_t *stats)
{
        nvmlReturn_t r = real(device, stats);
        struct nvml_buffer own;

        if (r != NVML_SUCCESS || !nvml_view_is_limited())
                return r;
        sessions_own(&capture, (nvml_list_fn *)(void *)real_nvml.nvmlDeviceGetFBCSessions, device,
                     &own);
        *stats = (nvmlFBCStats_t){ .sessionsCount = own.count,
                                   .averageFPS = sessions_mean(&capture, &own, capture.fps),
                                   .averageLatency =
                                           sessions_mean(&capture, &own, capture.latency) };
        sessions_done(&own);
        return r;
}
