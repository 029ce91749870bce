/* SPDX-License-Identifier: Apache-2.0 */
/* file_identity: is the file at a path still the one that was opened? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct file_identity {
        uint64_t device, inode;
};

/* Of an open file; of what is at the path now. 0 or a negative errno. */
int file_identity_of(int fd, struct file_identity *ret_identity);
int file_identity_at(const char *path, struct file_identity *ret_identity);

static inline bool file_identity_is(struct file_identity a, struct file_identity b)
{
        return a.device == b.device && a.inode == b.inode;
}
