/* SPDX-License-Identifier: Apache-2.0 */
/* evade: what the ways around libvgpu.so have in common: the three calls that hold memory, and where a way
 * found them. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct driver_calls {
        int (*init)(unsigned flags);
        int (*context)(void **context, unsigned flags, int device);
        int (*alloc)(unsigned long long *address, size_t bytes);
};

struct way {
        const char *name;
        /* Finds the calls, or does what makes libvgpu.so's own harmless. False: it was kept from it. */
        bool (*open)(struct driver_calls *calls);
        /* After the context was made; NULL: nothing. False: as above. */
        bool (*change)(struct driver_calls *calls);
};

/* What the program was called with, for a way that starts it anew. */
extern char **evade_arguments;

/* Why a way is barred: one sentence, for the test. Always false. */
bool barred(const char *what);

/* By the loader, as most programs look up: libvgpu.so's. */
bool calls_by_dlsym(void *library, struct driver_calls *calls);
bool calls_plain(struct driver_calls *calls);
/* The file that the loader takes. */
const char *driver_path(void);
/* Reads the library's own table of symbols: nobody is asked. */
void *symbol_walk(const struct link_map *map, const char *name);
bool calls_by_walk(void *library, struct driver_calls *calls);
/* The driver's own function behind the one that libvgpu.so shows. */
void *driver_own(const char *name);

/* The ways, one table per file; each ends with a row without a name. */
extern const struct way ways_symbols[], ways_memory[], ways_kernel[], ways_processes[];

/* evade_loader.c */
bool loader_open(struct driver_calls *calls);

/* The address and size of a mapping of the file in this process; 0: there is none. */
uintptr_t mapping_find(const char *path, size_t *ret_bytes);
