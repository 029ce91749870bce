/* SPDX-License-Identifier: Apache-2.0 */
/* file: whole files by name. */
#pragma once

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* *ret_text is NUL-terminated and the caller's. 0 or a negative errno. */
int file_read(const char *path, char **ret_text);

/* The new content appears at once or not at all; nothing is left behind on failure. */
int file_replace(const char *path, const void *bytes, size_t count, mode_t mode);
/* The same with the owner and the mode of another file: its predecessor, usually. */
int file_replace_like(const char *path, const void *bytes, size_t count, const struct stat *like);
