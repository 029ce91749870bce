/* NVML's figures of the video engines: the container's processes, not the card's. */
#include "nvml_engine.h"

#include <stddef.h>

#include "nvml_load.h"
#include "nvml_view.h"
#include "start.h"

/* Only the newer of the driver's two lists has these engines. */
static unsigned details_sum(nvmlDevice_t device, size_t offset)
{
        struct nvml_room room = { .stride = sizeof(nvmlProcessUtilizationInfo_v1_t),
                                  .pid = offsetof(nvmlProcessUtilizationInfo_v1_t, pid) };
        unsigned sum = 0;

        if (!real_nvml.nvmlDeviceGetProcessesUtilizationInfo || !nvml_room_make(&room))
                return 0;
        nvmlProcessesUtilizationInfo_t info = {
                .version = NVML_VERSION_OF(nvmlProcessesUtilizationInfo_t, 1),
                .processSamplesCount = room.count,
                .procUtilArray = room.entries,
        };
        unsigned own = 0;
        if (real_nvml.nvmlDeviceGetProcessesUtilizationInfo(device, &info) == NVML_SUCCESS)
                own = nvml_view_keep_own(room.entries, info.processSamplesCount, room.stride,
                                         room.pid);
        for (unsigned i = 0; i < own; i++)
                sum += *(const unsigned *)((const char *)room.entries + i * room.stride + offset);
        nvml_room_done(&room);
        return sum > 100 ? 100 : sum;
}

unsigned nvml_engine_percent(nvmlDevice_t device, enum nvml_engine engine)
{
        switch (engine) {
        case NVML_ENGINE_ENCODER:
                return nvml_load_sum(device, offsetof(nvmlProcessUtilizationSample_t, encUtil));
        case NVML_ENGINE_DECODER:
                return nvml_load_sum(device, offsetof(nvmlProcessUtilizationSample_t, decUtil));
        case NVML_ENGINE_JPEG:
                return details_sum(device, offsetof(nvmlProcessUtilizationInfo_v1_t, jpgUtil));
        default:
                return details_sum(device, offsetof(nvmlProcessUtilizationInfo_v1_t, ofaUtil));
        }
}

typedef nvmlReturn_t engine_fn(nvmlDevice_t device, unsigned *percent, unsigned *period_us);

static nvmlReturn_t engine_tell(engine_fn *real, nvmlDevice_t device, enum nvml_engine engine,
                                unsigned *percent, unsigned *period_us)
{
        nvmlReturn_t r = real(device, percent, period_us);

        if (r == NVML_SUCCESS && nvml_view_is_limited())
                *percent = nvml_engine_percent(device, engine);
        return r;
}

nvmlReturn_t hook_nvmlDeviceGetEncoderUtilization(nvmlDeviceGetEncoderUtilization_fn *real,
                                                  nvmlDevice_t device, unsigned int *percent,
                                                  unsigned int *period_us)
{
        return engine_tell(real, device, NVML_ENGINE_ENCODER, percent, period_us);
}

nvmlReturn_t hook_nvmlDeviceGetDecoderUtilization(nvmlDeviceGetDecoderUtilization_fn *real,
                                                  nvmlDevice_t device, unsigned int *percent,
                                                  unsigned int *period_us)
{
        return engine_tell(real, device, NVML_ENGINE_DECODER, percent, period_us);
}

nvmlReturn_t hook_nvmlDeviceGetJpgUtilization(nvmlDeviceGetJpgUtilization_fn *real,
                                              nvmlDevice_t device, unsigned int *percent,
                                              unsigned int *period_us)
{
        return engine_tell(real, device, NVML_ENGINE_JPEG, percent, period_us);
}

nvmlReturn_t hook_nvmlDeviceGetOfaUtilization(nvmlDeviceGetOfaUtilization_fn *real,
                                              nvmlDevice_t device, unsigned int *percent,
                                              unsigned int *period_us)
{
        return engine_tell(real, device, NVML_ENGINE_OPTICAL_FLOW, percent, period_us);
}
