/* SPDX-License-Identifier: Apache-2.0 */
/* The real driver: found, loaded, its functions in a typed table. */
#pragma once

#include <stdbool.h>

#include "preload_cuda.h"
#include "preload_nvml.h"

/* Load the library and fill the table: what the driver lacks stays NULL. Each once; false: there is
 * no such library. */
bool real_load_cuda(void);
bool real_load_nvml(void);

/* Our function for the driver's own address of it (as cuGetProcAddress returns it); the address
 * itself where we have none. */
void *real_to_shell(void *address);
