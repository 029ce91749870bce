/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code (ELF): the kernels and variables it names. */
#pragma once

#include "fatbin_content.h"

bool fatbin_elf_is(const void *image, size_t length);
uint64_t fatbin_elf_length(const void *image); /* from its own headers; 0 = not plausible */
/* Adds the image's kernels and variables. -EINVAL: damaged; -ENOMEM. */
int fatbin_elf_read(const unsigned char *image, uint64_t length, struct fatbin *fatbin);
