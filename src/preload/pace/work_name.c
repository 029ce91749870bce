/* SPDX-License-Identifier: Apache-2.0 */
/* work_name: a table without a lock. A name that is lost, or another's, is an estimate that is not there or
 * is wrong. */
#include "work_name.h"

#include <stdatomic.h>

enum { NAMES = 4096, PROBES = 8 };
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static struct {
        _Atomic uint64_t handle, name;
} names[NAMES];

static unsigned index_of(const void *handle, unsigned probe)
{
        return (unsigned)(((uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15) >> 40) +
                          probe) %
               NAMES;
}

static void name_set(const void *handle, uint64_t name)
{
        unsigned index = index_of(handle, 0);

        for (unsigned i = 0; i < PROBES; i++) {
                const uint64_t seen = atomic_load(&names[index_of(handle, i)].handle);
                if (seen != 0 && seen != (uint64_t)(uintptr_t)handle)
                        continue;
                index = index_of(handle, i);
                break;
        }
        atomic_store(&names[index].name, name);
        atomic_store(&names[index].handle, (uint64_t)(uintptr_t)handle);
}

void work_name_note(const void *handle, const char *name)
{
        uint64_t hash = FNV_BASIS;

        for (; name && *name; name++)
                hash = (hash ^ (unsigned char)*name) * FNV_PRIME;
        if (handle && name)
                name_set(handle, hash ? hash : 1);
}

void work_name_copy(const void *handle, const void *known)
{
        const uint64_t name = work_name_of(known);

        if (name)
                name_set(handle, name);
}

uint64_t work_name_of(const void *handle)
{
        for (unsigned i = 0; handle && i < PROBES; i++) {
                const unsigned index = index_of(handle, i);
                if (atomic_load(&names[index].handle) == (uint64_t)(uintptr_t)handle)
                        return atomic_load(&names[index].name);
        }
        return 0;
}
