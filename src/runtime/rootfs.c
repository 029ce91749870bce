/* SPDX-License-Identifier: Apache-2.0 */
/* rootfs: what the image has at our places. */
#include "rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fd.h"
#include "file_identity.h"
#include "json_read.h"
#include "scope.h"

enum { PRELOAD_BYTES_MOST = 64 * 1024 };

static int root_find(const struct spec *spec, const char *bundle, struct rootfs *rootfs,
                     struct err *e)
{
        const char *root = spec_root_path(spec);
        char named[PATH_MAX];

        if (!root || !*root)
                return err_set(e, -EBADMSG, "the container's configuration names no root");
        snprintf(named, sizeof named, "%s%s%s", *root == '/' ? "" : bundle, *root == '/' ? "" : "/",
                 root);
        if (!realpath(named, rootfs->path))
                return err_set(e, -errno, "cannot find the container's root '%.150s': %s", named,
                               strerror(errno));
        rootfs->fd = open(rootfs->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return rootfs->fd < 0 ? err_set(e, -errno, "cannot open the container's root '%.150s': %s",
                                        rootfs->path, strerror(errno))
                              : 0;
}

/* Absent is fine: the runtime makes it. */
static int kind_check(int root, const char *path, mode_t kind, struct err *e)
{
        struct stat found;

        if (fstatat(root, path, &found, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0
                                       : err_set(e, -errno, "cannot inspect the image's /%s: %s",
                                                 path, strerror(errno));
        if ((found.st_mode & S_IFMT) != kind)
                return err_set(e, -EPERM,
                               "the image's /%s is not a %s, so a share cannot be mounted there",
                               path, kind == S_IFDIR ? "folder" : "plain file");
        return 0;
}

static int preload_read(struct rootfs *rootfs, struct err *e)
{
        autoclose int fd = openat(rootfs->fd, "etc/ld.so.preload",
                                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat found;

        if (fd < 0)
                return errno == ENOENT ? 0
                                       : err_set(e, -errno,
                                                 "cannot read the image's /etc/ld.so.preload: %s",
                                                 strerror(errno));
        if (fstat(fd, &found) < 0 || found.st_size > PRELOAD_BYTES_MOST)
                return err_set(e, -EFBIG, "the image's /etc/ld.so.preload is too long");
        const int r = fd_read_all(fd, &rootfs->preload, NULL);
        return r < 0 ? err_set(e, r, "cannot read the image's /etc/ld.so.preload: %s", strerror(-r))
                     : 0;
}

static int open_inside(int root, const char *path)
{
        const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };

        return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* Does a mount lead to one of our folders, by name or by a link of the image's? */
static int mounts_check(const struct spec *spec, int root, struct err *e)
{
        static const char *const ours[] = { "/", "/etc", "/etc/vgpu" };
        const json_t *mounts = spec_query(spec, SPEC_MOUNTS);
        struct file_identity theirs, own;

        for (size_t i = 0; i < json_array_size(mounts); i++) {
                const char *destination =
                        json_read_text_or_null(json_array_get(mounts, i), "destination");
                autoclose int fd = destination ? open_inside(root, destination) : -1;

                if (fd < 0 || file_identity_of(fd, &theirs) < 0)
                        continue;
                for (size_t j = 0; j < sizeof ours / sizeof *ours; j++) {
                        autoclose int ours_fd = open_inside(root, ours[j]);

                        if (ours_fd >= 0 && file_identity_of(ours_fd, &own) == 0 &&
                            file_identity_is(theirs, own))
                                return err_set(e, -EPERM,
                                               "a volume at '%.80s' would hide %s, where the "
                                               "container's share is mounted",
                                               destination, ours[j]);
                }
        }
        return 0;
}

int rootfs_open(const struct spec *spec, const char *bundle, struct rootfs *ret_rootfs,
                struct err *e)
{
        struct rootfs rootfs = { .fd = -1 };
        int r = root_find(spec, bundle, &rootfs, e);

        if (r == 0)
                r = kind_check(rootfs.fd, "etc", S_IFDIR, e);
        if (r == 0 && mkdirat(rootfs.fd, "etc", 0755) < 0 && errno != EEXIST)
                r = err_set(e, -errno, "cannot make the image's /etc: %s", strerror(errno));
        if (r == 0)
                r = kind_check(rootfs.fd, "etc/vgpu", S_IFDIR, e);
        if (r == 0)
                r = kind_check(rootfs.fd, "etc/ld.so.preload", S_IFREG, e);
        if (r == 0)
                r = mounts_check(spec, rootfs.fd, e);
        if (r == 0)
                r = preload_read(&rootfs, e);
        if (r < 0)
                rootfs_close(&rootfs);
        else
                *ret_rootfs = rootfs;
        return r;
}

void rootfs_close(struct rootfs *rootfs)
{
        if (rootfs->fd >= 0)
                close(rootfs->fd);
        free(rootfs->preload);
        rootfs->preload = NULL;
        rootfs->fd = -1;
}
