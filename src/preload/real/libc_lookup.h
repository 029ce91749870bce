/* SPDX-License-Identifier: Apache-2.0 */
/* libc_lookup: the C library's own look-ups, behind our definitions of the same names. */
#pragma once

typedef void *dlsym_fn(void *handle, const char *name);
typedef void *dlvsym_fn(void *handle, const char *name, const char *version);
typedef void *dlopen_fn(const char *file, int mode);

/* Never NULL in a program that can load anything. */
dlsym_fn *libc_dlsym(void);
dlvsym_fn *libc_dlvsym(void);
dlopen_fn *libc_dlopen(void);
/* Forgets why the last look-up failed: the program was given an answer after all. */
void libc_clear_error(void);
