/* SPDX-License-Identifier: Apache-2.0 */
/* admission: may this program have a GPU at all? Asked where it comes in: cuInit, and NVML's own door. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "err.h"
#include "share_layout.h"
#include "str.h"

/* Opens the container's region, and checks that every limit with a device's number has its GPU; NVML is
 * initialised if has_nvml. 0, or a negative errno: the program gets no GPU, it was said why, and the answer
 * stays. */
int admission_check(bool has_nvml);
/* The second half where there is no NVML: CUDA is initialised. */
int admission_check_by_cuda(void);

/* The name by which a limit's list may mean the device. A MIG device's of old drivers (MIG-GPU-…/1/0) is too
 * long for a share: no list means it, so that a limit for it alone is refused rather than held by nobody. Cut,
 * it could be its neighbour's; and where limits are looked up (nvml_view.c) it is not cut. */
static inline void admission_gpu_name(const char *uuid, char ret_name[static SHARE_UUID])
{
        str_copy(ret_name, SHARE_UUID, strlen(uuid) < SHARE_UUID ? uuid : "MIG-");
}
