/* nvml_load: the container's own load of a card. */
#pragma once

#include <stddef.h>

#include "preload_nvml.h"

/* Percent of its time that the card worked for the container: in the last second where that is
 * measured, else in the driver's last sampling period. */
unsigned nvml_load_percent(nvmlDevice_t device);

/* The sum over the container's processes of the figure at this place in a sample of the driver's, at
 * most 100. */
unsigned nvml_load_sum(nvmlDevice_t device, size_t offset);
