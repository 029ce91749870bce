/* SPDX-License-Identifier: Apache-2.0 */
/* What several ways write: a jump over a function, and a share that gives more. */
#pragma once

#include <stddef.h>

struct share_file;

enum { JUMP_BYTES = 24 };

/* Code that jumps to the address; its length. */
size_t jump_make(const void *to, unsigned char *ret_code);
/* The first GPU's limit becomes 8 GiB, in both copies. */
void share_raise(struct share_file *share);
