/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's libraries. A file of its own: a program that loads none does without the loader. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "linkage.h"
#include "nearby.h"
#include "scope.h"

void *nearby_driver(const char *name)
{
        const char *machine = getenv("VGPU_SIM");
        autofree char *folder =
                machine && *machine ? nearby_choose(NEARBY_SIM_DRIVER, getenv("VGPU_SIM_LIB"), NULL)
                                    : NULL;
        char path[PATH_MAX + 64];

        if (!folder)
                return linkage_open(name);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        void *library = linkage_open(path);
        return library ? library : linkage_open(name);
}
