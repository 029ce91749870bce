/* nvml_load: the container's own load of a card. */
#pragma once

#include "preload_nvml.h"

/* Percent of the last sampling period that the container's processes had the card. */
unsigned nvml_load_percent(nvmlDevice_t device);
