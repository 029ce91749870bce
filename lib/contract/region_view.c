/* SPDX-License-Identifier: Apache-2.0 */
/* A region, only read. */
#include "region_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guard.h"
#include "scope.h"

static int file_check(const struct region_file *file, const char *path, struct err *e)
{
        if (atomic_load(&file->magic) != REGION_MAGIC)
                return err_set(e, -EPROTO, "'%.150s' is not a region file", path);
        const uint32_t version = __atomic_load_n(&file->version, __ATOMIC_RELAXED);
        if (version != REGION_VERSION)
                return err_set(e, -EPROTO, "region '%.150s' has version %u, this release reads %u",
                               path, version, REGION_VERSION);
        return 0;
}

int region_view_open(const char *path, struct region *ret_region, struct err *e)
{
        struct region region = { 0 };
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd < 0)
                return err_set(e, -errno, "cannot open region '%.150s': %s", path, strerror(errno));
        void *file = mmap(NULL, sizeof(struct region_file), PROT_READ, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map region '%.150s': %s", path, strerror(errno));
        region.file = file;
        file_identity_of(fd, &region.identity);
        int r = guard_add(file, sizeof(struct region_file));
        r = r < 0 ? err_set(e, r, "too many files are open for reading")
                  : file_check(file, path, e);
        if (r < 0) {
                region_view_close(&region);
                return r;
        }
        const uint32_t count = __atomic_load_n(&region.file->device_count, __ATOMIC_RELAXED);
        region.device_count = count < REGION_DEVICES ? count : REGION_DEVICES;
        *ret_region = region;
        return 0;
}

void region_view_close(struct region *region)
{
        if (!region->file)
                return;
        guard_remove(region->file);
        munmap(region->file, sizeof *region->file);
        region->file = NULL;
}
