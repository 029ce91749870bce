/* SPDX-License-Identifier: Apache-2.0 */
/* region_file: make, check, map. */
#include "region_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "file_allocate.h"
#include "scope.h"
#include "str.h"

/* Whoever has the lock alone may wait for a processor meanwhile. */
enum { LOCK_TRIES = 2000, LOCK_US = 1000 };
enum { OPEN_FLAGS = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK };
enum { NAMESPACE_UNKNOWN = 1 }; /* no namespace's inode */

/* Network file systems may have no such locks (Lustre, NFS without its daemon). These have them always: a process
 * that finds none there has forbidden itself the call. */
static bool may_lack_locks(int fd)
{
        struct statfs system;

        if (fstatfs(fd, &system) < 0)
                return false;
        switch (system.f_type) {
        case TMPFS_MAGIC:
        case EXT4_SUPER_MAGIC:
        case XFS_SUPER_MAGIC:
        case BTRFS_SUPER_MAGIC:
        case OVERLAYFS_SUPER_MAGIC:
                return false;
        default:
                return true;
        }
}

/* -EAGAIN: another has it; -EOPNOTSUPP: nobody can have one there. */
static int lock_try(int fd, int operation)
{
        if (flock(fd, operation | LOCK_NB) == 0)
                return 0;
        if (errno == EWOULDBLOCK || errno == EINTR)
                return -EAGAIN;
        return may_lack_locks(fd) ? -EOPNOTSUPP : -errno;
}

/* Makers exclude each other by a lock that the kernel drops when its holder dies. Who uses the region has it, too: a
 * region without a magic number that is in use was written by hand. */
static void file_make(int fd, struct region_file *file, unsigned device_count)
{
        for (int i = 0; i < LOCK_TRIES && atomic_load(&file->magic) == 0; i++) {
                const int r = lock_try(fd, LOCK_EX);

                if (r == -EAGAIN) {
                        usleep(LOCK_US);
                        continue;
                }
                if (r < 0 && r != -EOPNOTSUPP)
                        return;
                if (atomic_load(&file->magic) == 0) {
                        file->version = REGION_VERSION;
                        file->device_count = device_count;
                        atomic_store(&file->magic, REGION_MAGIC);
                }
                flock(fd, LOCK_UN);
        }
}

/* What is in the file may change under our hands: each word is read once. */
static int file_check(const struct region_file *file, const char *path, unsigned device_count,
                      uint32_t *ret_count, struct err *e)
{
        const uint32_t version = __atomic_load_n(&file->version, __ATOMIC_RELAXED);
        const uint32_t count = __atomic_load_n(&file->device_count, __ATOMIC_RELAXED);

        if (version != REGION_VERSION)
                return err_set(e, -EPROTO, "region '%s' has version %u, this release reads %u",
                               path, version, REGION_VERSION);
        if (count < device_count || count > REGION_DEVICES)
                return err_set(e, -EPROTO, "region '%s' is for %u devices, %u are needed", path,
                               count, device_count);
        *ret_count = count;
        return 0;
}

/* The devices' words, their computes and the costs; a slot gets its blocks when it is taken. */
static int blocks_take(int fd, unsigned computes)
{
        int r = file_extend(fd, sizeof(struct region_file));

        if (r == 0)
                r = file_allocate(fd, 0,
                                  offsetof(struct region_file, computes) +
                                          computes * sizeof(struct region_compute));
        if (r == 0)
                r = file_allocate(fd, offsetof(struct region_file, costs),
                                  sizeof((struct region_file *)0)->costs);
        return r;
}

/* Unknown: the kernel has none of that kind, or there is no /proc, or one that is not the kernel's: gVisor's shows
 * another inode each time. */
static uint64_t namespace_read(unsigned kind)
{
        static const char *const paths[REGION_NAMESPACES] = { "/proc/self/ns/pid",
                                                              "/proc/self/ns/time" };
        struct file_identity identity;
        struct statfs system;

        if (statfs(paths[kind], &system) < 0 || system.f_type != NSFS_MAGIC ||
            file_identity_at(paths[kind], &identity) < 0)
                return NAMESPACE_UNKNOWN;
        return identity.inode;
}

static bool namespaces_are_ours(const struct region_file *file)
{
        for (unsigned i = 0; i < REGION_NAMESPACES; i++) {
                const uint64_t known = atomic_load(&file->namespaces[i]);

                if (known && known != namespace_read(i))
                        return false;
        }
        return true;
}

int region_file_namespaces(const struct region *region)
{
        return namespaces_are_ours(region->file) ? 0 : -EXDEV;
}

/* Everybody who has the region mapped holds the lock, shared, for as long as that: the mapping keeps the file open.
 * Whoever gets it alone knows, whatever pids say, that nobody else lives: a container was started again. */
static int namespaces_join(int fd, struct region_file *file)
{
        for (int i = 0; i < LOCK_TRIES; i++) {
                int r = lock_try(fd, LOCK_EX);

                for (unsigned kind = 0; r == 0 && kind < REGION_NAMESPACES; kind++)
                        atomic_store(&file->namespaces[kind], namespace_read(kind));
                if (!namespaces_are_ours(file))
                        return -EXDEV;
                r = lock_try(fd, LOCK_SH);
                if (r != -EAGAIN)
                        return r == -EOPNOTSUPP ? 0 : r;
                usleep(LOCK_US); /* another looks whether it is alone */
        }
        return -EAGAIN;
}

static int file_map(int fd, const char *path, unsigned computes, struct region_file **ret_file,
                    struct err *e)
{
        off_t size = lseek(fd, 0, SEEK_END); /* fstat() would need a newer C library */

        if (size < 0)
                return err_set(e, -errno, "cannot read region '%s': %s", path, strerror(errno));
        if (size != 0 && size != (off_t)sizeof(struct region_file))
                return err_set(e, -EPROTO, "'%s' is not a region file (%lld bytes)", path,
                               (long long)size);
        const int r = blocks_take(fd, computes);
        if (r < 0)
                return err_set(e, r, "cannot make region '%s': %s", path, strerror(-r));
        struct region_file *file =
                mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map region '%s': %s", path, strerror(errno));
        *ret_file = file;
        return 0;
}

/* The descriptor that must stay open for the lock to stay; -1: none. A mapping keeps its file open, but of overlayfs
 * that is the file below, not the one that is locked. Above those that programs use by number. */
static int lock_keep(int *fd)
{
        enum { DESCRIPTOR_LEAST = 200 };
        struct statfs system;

        if (fstatfs(*fd, &system) < 0 || system.f_type != OVERLAYFS_SUPER_MAGIC)
                return -1;
        /* fcntl() would need a newer C library */
        const int high = (int)syscall(SYS_fcntl, *fd, F_DUPFD_CLOEXEC, DESCRIPTOR_LEAST);
        return high >= 0 ? high : scope_steal_fd(fd);
}

/* Who can write to it can read it, and nobody else: whoever reads it could lock it for good. It is made so that there
 * is no moment in which others can. */
static void readers_choose(int fd)
{
        struct stat status;

        /* fstat() would need a newer C library */
        if (syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) < 0 ||
            status.st_uid != geteuid())
                return;
        const mode_t mode = status.st_mode & 0777;
        const mode_t wanted = (mode & ~(mode_t)044) | (mode & 022) << 1;
        if (mode != wanted)
                fchmod(fd, wanted);
}

int region_open(const char *path, unsigned device_count, struct region *ret_region, struct err *e)
{
        struct region_file *file = NULL;
        autoclose int fd = open(path, OPEN_FLAGS | O_CREAT, REGION_MODE);

        if (fd < 0)
                return err_set(e, -errno, "cannot open region '%s': %s", path, strerror(errno));
        readers_choose(fd);
        int r = file_map(fd, path, device_count < REGION_DEVICES ? device_count : REGION_DEVICES,
                         &file, e);
        if (r < 0)
                return r;
        if (atomic_load(&file->magic) == 0)
                file_make(fd, file, device_count);
        r = atomic_load(&file->magic) == REGION_MAGIC
                    ? file_check(file, path, device_count, &ret_region->device_count, e)
                    : err_set(e, -EPROTO, "'%s' is not a region file", path);
        if (r == 0) {
                r = namespaces_join(fd, file);
                if (r == -EXDEV)
                        err_set(e, r, "region '%s' is in use in other pid or time namespaces",
                                path);
                else if (r < 0)
                        err_set(e, r, "cannot lock region '%s': %s", path, strerror(-r));
        }
        if (r < 0) {
                munmap(file, sizeof *file);
                return r;
        }
        ret_region->file = file;
        file_identity_of(fd, &ret_region->identity);
        ret_region->lock_fd = lock_keep(&fd);
        ret_region->slot = 0;
        ret_region->driver = NULL;
        str_copy(ret_region->path, sizeof ret_region->path, path);
        atomic_store(&ret_region->lingering, 0);
        for (unsigned i = 0; i < REGION_CHARGES; i++)
                ret_region->locks[i].lock = (struct brief_lock){ 0 };
        pthread_mutex_init(&ret_region->reaping, NULL);
        return 0;
}

int region_create(const char *path, uint64_t *ret_inode, struct err *e)
{
        struct region_file *file;
        struct file_identity identity = { 0 };
        autoclose int fd = open(path, OPEN_FLAGS | O_CREAT | O_EXCL, 0666);

        if (fd < 0)
                return err_set(e, -errno, "cannot make region '%s': %s", path, strerror(errno));
        const int r = file_map(fd, path, 0, &file, e);
        if (r < 0) {
                unlink(path);
                return r;
        }
        file_make(fd, file, REGION_DEVICES);
        munmap(file, sizeof *file);
        file_identity_of(fd, &identity);
        *ret_inode = identity.inode;
        return 0;
}

int region_file_slot(const struct region *region, uint32_t slot)
{
        autoclose int fd = open(region->path, OPEN_FLAGS);
        struct file_identity now;

        if (fd < 0 || file_identity_of(fd, &now) < 0 || !file_identity_is(now, region->identity))
                return 0;
        return file_allocate(
                fd, offsetof(struct region_file, slots) + slot * sizeof(struct region_slot),
                sizeof(struct region_slot));
}
