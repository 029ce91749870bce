/* SPDX-License-Identifier: Apache-2.0 */
/* auditor: a library that the dynamic linker loads before all others, into a namespace of its own (LD_AUDIT). It
 * calls the driver there before the program's first instruction. EVADE_MIB says how much it takes. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

SEEN unsigned la_version(unsigned version);
SEEN void la_preinit(uintptr_t *cookie);

unsigned la_version(unsigned version)
{
        return version;
}

void la_preinit(uintptr_t *cookie)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
        int (*init)(unsigned), (*create)(void **, unsigned, int),
                (*alloc)(unsigned long long *, size_t);
        const char *mib = getenv("EVADE_MIB");
        unsigned long long address;
        int r = 999;

        (void)cookie;
        *(void **)&init = dlsym(library, "cuInit");
        *(void **)&create = dlsym(library, "cuCtxCreate_v2");
        *(void **)&alloc = dlsym(library, "cuMemAlloc_v2");
        if (init && create && alloc && mib && (r = init(0)) == 0 &&
            (r = create(&context, 0, 0)) == 0)
                r = alloc(&address, (size_t)strtoul(mib, NULL, 10) << 20);
        dprintf(STDOUT_FILENO, "%d\n", r);
}
