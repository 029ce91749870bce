/* The real driver: found, loaded, its functions in a typed table. */
#pragma once

#include <stdbool.h>

#include "preload_cuda.h"
#include "preload_nvml.h"

typedef void *dlsym_fn(void *handle, const char *name);
typedef void *dlvsym_fn(void *handle, const char *name, const char *version);
typedef void *dlopen_fn(const char *file, int mode);

/* The C library's own. Never NULL in a program that can load anything. */
dlsym_fn *real_dlsym(void);
dlvsym_fn *real_dlvsym(void);
dlopen_fn *real_dlopen(void);
/* Forgets why the last look-up failed: the program was given an answer after all. */
void real_clear_error(void);

/* Load the library and fill the table: what the driver lacks stays NULL. Each once; false: there is
 * no such library. */
bool real_load_cuda(void);
bool real_load_nvml(void);

/* Our function for the driver's own address of it (as cuGetProcAddress returns it); the address
 * itself where we have none. */
void *real_to_shell(void *address);
