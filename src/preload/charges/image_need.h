/* SPDX-License-Identifier: Apache-2.0 */
/* image_need: what a code image takes on a GPU at least, before the driver has seen it.
 *
 * Its variables can be read off PTX and machine code; what the code itself takes, only the driver knows.
 * Images that are packed, or in a form that is not known here, say nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* No GPU has so much: a variable that says so is damage. */
#define IMAGE_NEED_MOST (UINT64_C(1) << 40)
enum { IMAGE_NAME = 4096 }; /* longer names are not told */

/* Of an image in memory, as the driver gets it: PTX, machine code, or a fat binary of these, of which the
 * driver may take any. 0: nothing is known. */
uint64_t image_need(const void *image);

/* The names of its variables that are, or may be, managed memory. */
typedef void image_name_fn(const char *name, void *user);
void image_managed(const void *image, image_name_fn *visit, void *user);

/* What an image is read for: the figure, and the names if `visit` is given. */
struct image_query {
        image_name_fn *visit;
        void *user;
};
/* Of the text of a PTX module, which ends with a NUL. */
uint64_t image_need_ptx(const char *text, const struct image_query *query);
/* Of machine code; `length` 0: by its own headers. */
uint64_t image_need_elf(const void *image, uint64_t length, const struct image_query *query);
