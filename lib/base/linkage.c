/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a library that may not be there. */
#include "linkage.h"

#include <dlfcn.h>
#include <string.h>

void *linkage_open(const char *name)
{
        return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

const char *linkage_find(void *library, const struct linkage_row *rows, size_t count)
{
        const char *missing = NULL;

        for (size_t i = 0; i < count; i++) {
                void *function = dlsym(library, rows[i].name);

                /* C knows no conversion between pointers to functions and to objects. */
                memcpy(rows[i].to, &function, sizeof function);
                if (!function && !missing)
                        missing = rows[i].name;
        }
        return missing;
}
