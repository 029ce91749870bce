/* SPDX-License-Identifier: Apache-2.0 */
/* work_name: what kernels are called, by handle: names are the same in every process of a container, handles
 * are not. The driver is not asked: not every handle may be given to those of its functions that tell. */
#pragma once

#include <stdint.h>

/* A handle that the program was given for this name. */
void work_name_note(const void *handle, const char *name);
/* A further handle of the same kernel. */
void work_name_copy(const void *handle, const void *known);
/* A number that stands for the name; 0: it is not known. */
uint64_t work_name_of(const void *handle);
