/* SPDX-License-Identifier: Apache-2.0 */
/* The real driver. */
#include "real.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "index.h"
#include "libc_lookup.h"
#include "order.h"

struct real_cuda real_cuda;
struct real_nvml real_nvml;

enum { SHELLS = 1024 }; /* a power of two, more than twice the rows */

/* The driver's addresses of what we replace: open addressing, written once, then only read. */
static struct {
        void *address, *shell;
} real_shells[SHELLS];

static unsigned shell_hash(const void *address)
{
        return (unsigned)(((uintptr_t)address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54) % SHELLS;
}

static void shell_add(void *address, void *shell)
{
        unsigned i = shell_hash(address);

        while (real_shells[i].address && real_shells[i].address != address)
                i = (i + 1) % SHELLS;
        /* Two names of one function: the first row stands for both. */
        if (real_shells[i].address)
                return;
        real_shells[i].shell = shell;
        __atomic_store_n(&real_shells[i].address, address, __ATOMIC_RELEASE);
}

void *real_to_shell(void *address)
{
        unsigned i = shell_hash(address);

        for (;;) {
                void *seen = __atomic_load_n(&real_shells[i].address, __ATOMIC_ACQUIRE);
                if (!seen)
                        return address;
                if (seen == address)
                        return real_shells[i].shell;
                i = (i + 1) % SHELLS;
        }
}

static bool table_load(const char *file, const struct index_row *rows, unsigned count, void *table)
{
        void *library = libc_dlopen()(file, RTLD_NOW | RTLD_LOCAL);

        if (!library)
                return false;
        for (unsigned i = 0; i < count; i++) {
                void *address = libc_dlsym()(library, rows[i].name);
                if (!address)
                        address = order_hidden(rows[i].name);
                if (!address || address == rows[i].shell)
                        continue;
                if (rows[i].shell)
                        shell_add(address, rows[i].shell);
                if (rows[i].offset != INDEX_NONE)
                        __atomic_store_n((void **)((char *)table + rows[i].offset), address,
                                         __ATOMIC_RELEASE);
        }
        return true;
}

bool real_load_cuda(void)
{
        return table_load("libcuda.so.1", index_cuda, index_cuda_count, &real_cuda);
}

bool real_load_nvml(void)
{
        return table_load("libnvidia-ml.so.1", index_nvml, index_nvml_count, &real_nvml);
}
