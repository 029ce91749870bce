/* SPDX-License-Identifier: Apache-2.0 */
/* Images a program hands to the driver: fat binaries (with or without wrapper), ELF machine code,
 * bare PTX. What comes out: the best PTX text and what the machine code says about its kernels. */
#pragma once

#include <stddef.h>

#include "fatbin_content.h"

struct err;

/* Takes an image apart. `length` 0: not known, the image's own sizes are believed. Chosen: the PTX
 * made for the newest device not newer than `device_sm` (80 for 8.0), the ELF of the nearest sm of
 * the same generation. Neither may exist: that is no error.
 * -EINVAL: no image we know, or a damaged one; -ENOMEM. The caller ends it with fatbin_done(). */
int fatbin_read(const void *image, size_t length, unsigned device_sm, struct fatbin *ret_fatbin,
                struct err *e);
void fatbin_done(struct fatbin *fatbin);
