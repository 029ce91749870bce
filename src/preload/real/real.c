/* The real driver. */
#include "real.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "index.h"
#include "libc_symbol.h"
#include "order.h"

struct real_cuda real_cuda;
struct real_nvml real_nvml;

enum { SHELLS = 1024 }; /* a power of two, more than twice the rows */

/* The driver's addresses of what we replace: open addressing, written once, then only read. */
static struct {
        void *address, *shell;
} real_shells[SHELLS];

static void *once(void **place, const char *name)
{
        void *found = __atomic_load_n(place, __ATOMIC_RELAXED);

        if (!found) {
                found = libc_symbol(name);
                __atomic_store_n(place, found, __ATOMIC_RELAXED);
        }
        return found;
}

dlsym_fn *real_dlsym(void)
{
        static void *place;

        return (dlsym_fn *)once(&place, "dlsym");
}

dlvsym_fn *real_dlvsym(void)
{
        static void *place;

        return (dlvsym_fn *)once(&place, "dlvsym");
}

dlopen_fn *real_dlopen(void)
{
        static void *place;

        return (dlopen_fn *)once(&place, "dlopen");
}

void real_clear_error(void)
{
        static void *place;
        char *(*last_error)(void) = (char *(*)(void))once(&place, "dlerror");

        if (last_error)
                last_error();
}

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
        void *library = real_dlopen()(file, RTLD_NOW | RTLD_LOCAL);

        if (!library)
                return false;
        for (unsigned i = 0; i < count; i++) {
                void *address = real_dlsym()(library, rows[i].name);
                if (!address)
                        address = order_hidden(rows[i].name);
                if (!address || address == rows[i].shell)
                        continue;
                if (rows[i].shell)
                        shell_add(address, rows[i].shell);
                if (rows[i].place != INDEX_NONE)
                        __atomic_store_n((void **)((char *)table + rows[i].place), address,
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
