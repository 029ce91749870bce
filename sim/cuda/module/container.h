/* SPDX-License-Identifier: Apache-2.0 */
/* What cuLinkComplete gives and cuModuleLoadData takes back: the inputs of the link, one after the
 * other. Real drivers give machine code there; programs only hand it on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct container_part {
        bool is_ptx; /* otherwise an image of any other kind */
        const void *bytes;
        size_t length;
};

/* *ret_image is the caller's. -ENOMEM. */
int container_write(const struct container_part *parts, size_t count, void **ret_image,
                    size_t *ret_bytes);

bool container_is(const void *image, size_t bytes); /* bytes 0: not known */
/* The number of parts. -EINVAL: damaged, or longer than `bytes`. */
int container_count(const void *image, size_t bytes);
/* Parts point into the image. Only after container_count() has accepted it. */
void container_part(const void *image, unsigned index, struct container_part *ret_part);
