/* nvml_load: the container's own load of a card. */
#pragma once

#include "preload_nvml.h"

/* Percent of its time that the card worked for the container: in the last second where that is
 * measured, else in the driver's last sampling period. */
unsigned nvml_load_percent(nvmlDevice_t device);
