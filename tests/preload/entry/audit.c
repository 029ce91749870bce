/* SPDX-License-Identifier: Apache-2.0 */
/* audit: the dynamic linker's own word on who was bound to what (LD_AUDIT). Every binding of a driver
 * function to the driver that does not come from libvgpu.so or the driver itself is written, as a line
 * "caller name", to the file AUDIT_LOG. */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_driver(const char *path)
{
        return strstr(path, "libcuda.so") || strstr(path, "libnvidia-ml.so");
}

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                       unsigned *flags, const char *name);

#define SEEN __attribute__((visibility("default")))

SEEN unsigned la_version(unsigned version)
{
        return version;
}

/* A cookie is the object's path. */
SEEN unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
        (void)space;
        *cookie = (uintptr_t)map->l_name;
        return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

SEEN uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                            unsigned *flags, const char *name)
{
        const char *caller = (const char *)*from, *owner = (const char *)*to;
        const char *log = getenv("AUDIT_LOG");
        char line[512];

        (void)index, (void)flags;
        if (log && is_driver(owner) && !is_driver(caller) && !strstr(caller, "libvgpu.so") &&
            (strncmp(name, "cu", 2) == 0 || strncmp(name, "nvml", 4) == 0)) {
                int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
                int length =
                        snprintf(line, sizeof line, "%s %s\n", *caller ? caller : "program", name);
                if (write(file, line, (size_t)length) != length)
                        _exit(99);
                close(file);
        }
        return symbol->st_value;
}
