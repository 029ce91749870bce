/* route: the ways by which a program finds driver functions, and what it finds there: ours.
 *
 * A look-up that is not ours must leave as a jump: the C library decides by the return address whose
 * look-up it is (RTLD_NEXT, RTLD_DEFAULT, a library's own search path). tests/abi checks the code. */
#include <dlfcn.h>
#include <stddef.h>

#include "index.h"
#include "real.h"

/* In global look-ups our exported functions come first anyway: they are preloaded. */
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
        return address ? row->shell : NULL;
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
        const struct index_row *row = route_row(handle, name);

        if (__builtin_expect(!row, 1))
                return real_dlsym()(handle, name);
        return route_answer(row, real_dlsym()(handle, name));
}

__attribute__((visibility("default"))) void *dlvsym(void *handle, const char *name,
                                                    const char *version)
{
        const struct index_row *row = route_row(handle, name);

        if (__builtin_expect(!row, 1))
                return real_dlvsym()(handle, name, version);
        return route_answer(row, real_dlvsym()(handle, name, version));
}

/* A plugin that looks at itself first would find the driver behind our back. */
__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
        return real_dlopen()(file, mode & ~RTLD_DEEPBIND);
}
