/* nvml_engine: the video engines of a card, as far as they work for the container. */
#pragma once

#include "preload_nvml.h"

enum nvml_engine {
        NVML_ENGINE_ENCODER,
        NVML_ENGINE_DECODER,
        NVML_ENGINE_JPEG,
        NVML_ENGINE_OPTICAL_FLOW,
};

/* Percent of its time; 0 where the driver does not tell whom an engine works for. */
unsigned nvml_engine_percent(nvmlDevice_t device, enum nvml_engine engine);
