/* SPDX-License-Identifier: Apache-2.0 */
/* NVML's figures of the video engines: the container's processes, not the GPU's. */
#include "nvml_usage.h"
#include "nvml_view.h"

typedef nvmlReturn_t engine_fn(nvmlDevice_t device, unsigned *percent, unsigned *period_us);

static nvmlReturn_t engine_tell(engine_fn *real, nvmlDevice_t device, enum nvml_engine engine,
                                unsigned *percent, unsigned *period_us)
{
        nvmlReturn_t r = real(device, percent, period_us);

        if (r == NVML_SUCCESS && nvml_view_is_limited())
                *percent = nvml_usage_engine_percent(device, engine);
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
