/* SPDX-License-Identifier: Apache-2.0 */
/* admission: may this program have a GPU at all? Asked where it comes in: cuInit, and NVML's own door. */
#pragma once

#include <stdbool.h>

#include "err.h"

/* Opens the container's region, and checks that every limit with a device's number has its GPU; NVML is
 * initialised if has_nvml. 0, or a negative errno: the program gets no GPU, it was said why, and the answer
 * stays. */
int admission_check(bool has_nvml);
/* The second half where there is no NVML: CUDA is initialised. */
int admission_check_by_cuda(void);
