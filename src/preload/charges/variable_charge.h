/* SPDX-License-Identifier: Apache-2.0 */
/* variable_charge: variables of modules and libraries that are managed memory. They come with the code, and
 * the driver puts them onto whichever GPU touches them: each is charged by its address, once, on the device
 * of the context that asks, as soon as it is known. */
#pragma once

#include <stdbool.h>

#include "devices.h"

/* A variable of this module or library (its handle) is there. OUT_OF_MEMORY: it is managed, and does not
 * fit. A module's variables go with its context, a library's (`is_everywhere`) with the library. */
CUresult variable_charge_note(const void *owner, CUdeviceptr address, size_t bytes,
                              bool is_everywhere);
/* Those that an image names, by whichever call finds one by its name. */
typedef CUresult variable_find_fn(CUdeviceptr *address, size_t *bytes, const void *owner,
                                  const char *name);
CUresult variable_charge_image(const void *owner, const void *image, variable_find_fn *find,
                               bool is_everywhere);

/* The module or library was unloaded; the context has ended. */
void variable_charge_end(const void *owner);
void variable_charge_context_gone(uint64_t context);
