/* SPDX-License-Identifier: Apache-2.0 */
/* linkage: functions of a library that may not be there, found at run time by rows of names. */
#pragma once

#include <stddef.h>

struct linkage_row {
        void *to; /* the address of a pointer to such a function */
        const char *name;
};

/* NULL: this machine has none. It stays loaded: its functions are kept. */
void *linkage_open(const char *name);

/* Sets every row's pointer, NULL where the library has no such function. The first name that it has
 * not; NULL: it has all. */
const char *linkage_find(void *library, const struct linkage_row *rows, size_t count);
