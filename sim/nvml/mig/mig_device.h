/* SPDX-License-Identifier: Apache-2.0 */
/* mig_device: a compute instance seen as a device. */
#pragma once

#include "target.h"

/* Devices of a GPU in the order NVML numbers them: by GPU instance, then compute instance. */
bool mig_device_at(const struct target *gpu, unsigned index, unsigned *ret_instance,
                   unsigned *ret_compute);
unsigned mig_device_index(const struct target *device);
unsigned mig_device_sm_count(const struct target *device);
/* "MIG 3g.20gb", or "MIG 1c.3g.20gb" where it is only a part of its GPU instance. */
void mig_device_name(const struct target *device, char *text, size_t bytes);
