/* SPDX-License-Identifier: Apache-2.0 */
/* libc_lookup: each found once. */
#include "libc_lookup.h"

#include <stddef.h>

#include "libc_symbol.h"

static void *once(void **cached, const char *name)
{
        void *found = __atomic_load_n(cached, __ATOMIC_RELAXED);

        if (!found) {
                found = libc_symbol(name);
                __atomic_store_n(cached, found, __ATOMIC_RELAXED);
        }
        return found;
}

dlsym_fn *libc_dlsym(void)
{
        static void *cached;

        return (dlsym_fn *)once(&cached, "dlsym");
}

dlvsym_fn *libc_dlvsym(void)
{
        static void *cached;

        return (dlvsym_fn *)once(&cached, "dlvsym");
}

dlopen_fn *libc_dlopen(void)
{
        static void *cached;

        return (dlopen_fn *)once(&cached, "dlopen");
}

void libc_clear_error(void)
{
        static void *cached;
        char *(*last_error)(void) = (char *(*)(void))once(&cached, "dlerror");

        if (last_error)
                last_error();
}
