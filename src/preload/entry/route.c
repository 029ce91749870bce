/* SPDX-License-Identifier: Apache-2.0 */
/* route: the ways by which a program finds driver functions, and what it finds there: ours.
 *
 * A look-up that is not ours must leave as a jump: the C library decides by the return address whose
 * look-up it is (RTLD_NEXT, RTLD_DEFAULT, a library's own search path). tests/abi checks the code. */
#include <dlfcn.h>
#include <stddef.h>

#include "index.h"
#include "libc_lookup.h"
#include "log.h"
#include "order.h"

/* In global look-ups our exported functions come first anyway: they are preloaded, and what is preloaded
 * before us is passed over (order.h). */
static const struct index_row *route_row(const void *handle, const char *name)
{
        if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !name)
                return NULL;
        const struct index_row *row = index_find(name);
        return row && row->shell ? row : NULL;
}

/* Ours, if the library that was asked has such a function at all. */
static void *route_answer(const struct index_row *row, void *address)
{
        if (!address && order_hidden(row->name)) {
                libc_clear_error();
                return row->shell;
        }
        return address ? row->shell : NULL;
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
        const struct index_row *row = route_row(handle, name);

        if (__builtin_expect(!row, 1))
                return libc_dlsym()(handle, name);
        return route_answer(row, libc_dlsym()(handle, name));
}

__attribute__((visibility("default"))) void *dlvsym(void *handle, const char *name,
                                                    const char *version)
{
        const struct index_row *row = route_row(handle, name);

        if (__builtin_expect(!row, 1))
                return libc_dlvsym()(handle, name, version);
        return route_answer(row, libc_dlvsym()(handle, name, version));
}

/* A plugin that looks at itself first would find the driver behind our back. */
__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
        return libc_dlopen()(file, mode & ~RTLD_DEEPBIND);
}

/* The start code of nearly every program and library calls this one if somebody defines it: profilers
 * did. So the program itself asks us to check whether the driver comes before us, and whoever preloads the
 * driver, or the C library, does not go past us: the driver's own start code calls it too. */
__attribute__((visibility("default"))) void __gmon_start__(void);

void __gmon_start__(void)
{
        static const struct index_row lookups[] = {
                { "dlopen", (void *)dlopen, INDEX_NONE },
                { "dlsym", (void *)dlsym, INDEX_NONE },
                { "dlvsym", (void *)dlvsym, INDEX_NONE },
        };
        static const struct index_row self = { "__gmon_start__", (void *)__gmon_start__,
                                               INDEX_NONE };

        if (!order_check(lookups, sizeof lookups / sizeof *lookups, &self))
                log_error("the driver was loaded before libvgpu.so, and calls bypass libvgpu.so");
}
