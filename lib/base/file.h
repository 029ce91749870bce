/* SPDX-License-Identifier: Apache-2.0 */
/* file: whole files by name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Of a negative errno: the file may be right, and this process had no memory or no descriptor for it. */
bool file_error_is_shortage(int r);
/* The same, or somebody keeps it from us for a while. Later it succeeds: whatever is given up for it is lost in vain. */
bool file_error_passes(int r);

/* *ret_text is NUL-terminated and the caller's. 0 or a negative errno. */
int file_read(const char *path, char **ret_text);

/* The new content appears at once or not at all; nothing is left behind on failure. */
int file_replace(const char *path, const void *bytes, size_t count, mode_t mode);
/* The same with the owner and the mode of another file: its predecessor, usually. */
int file_replace_like(const char *path, const void *bytes, size_t count, const struct stat *like);
