/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_usage: how much of a GPU's engines works for the container. */
#pragma once

#include <stddef.h>

#include "preload_nvml.h"

/* Percent of its time that the GPU worked for the container in the last second: what the container measures,
 * as far as the driver's figures of its processes bear it out. */
unsigned nvml_usage_percent(nvmlDevice_t device);

enum nvml_engine {
        NVML_ENGINE_ENCODER,
        NVML_ENGINE_DECODER,
        NVML_ENGINE_JPEG,
        NVML_ENGINE_OPTICAL_FLOW,
};

/* Percent of its time; 0 where the driver does not tell whom an engine works for. */
unsigned nvml_usage_engine_percent(nvmlDevice_t device, enum nvml_engine engine);

/* The driver's samples newer than `since`, those of the container's processes alone; how many. The caller
 * frees them, also after an error. */
unsigned nvml_usage_samples(nvmlDeviceGetProcessUtilization_fn *real, nvmlDevice_t device,
                            unsigned long long since, nvmlProcessUtilizationSample_t **ret_samples,
                            nvmlReturn_t *ret_result);
void nvml_usage_samples_free(nvmlProcessUtilizationSample_t *samples);
