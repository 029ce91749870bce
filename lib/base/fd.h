/* SPDX-License-Identifier: Apache-2.0 */
/* fd: read and write all of it, whatever the kernel interrupts or cuts short. */
#pragma once

#include <stddef.h>

/* 0 or a negative errno. */
int fd_write_all(int fd, const void *bytes, size_t count);

/* Reads to the end. *ret_text is NUL-terminated and the caller's; ret_length may be NULL. */
int fd_read_all(int fd, char **ret_text, size_t *ret_length);
