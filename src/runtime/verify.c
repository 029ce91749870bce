/* SPDX-License-Identifier: Apache-2.0 */
/* verify: no link on the way, and the right file at its end. */
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "container_paths.h"
#include "file_identity.h"
#include "scope.h"
#include "share_layout.h"

/* Follows the path in the root, which begins with '/', and no link. */
static int open_plainly(const char *root, const char *path)
{
        int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

        while (at >= 0 && *path) {
                const size_t length = strcspn(path + 1, "/");
                autoclose int above = at;
                char name[NAME_MAX + 1];

                snprintf(name, sizeof name, "%.*s", (int)length, path + 1);
                path += 1 + length;
                at = openat(above, name,
                            O_PATH | O_NOFOLLOW | O_CLOEXEC | (*path ? O_DIRECTORY : 0));
        }
        return at;
}

static int file_check(const char *root, const char *path, const char *wanted, struct err *e)
{
        struct file_identity is, should_be;
        autoclose int fd = open_plainly(root, path);

        if (fd < 0)
                return err_set(e, -errno, "%s of the container cannot be reached: %s", path,
                               strerror(errno));
        if (file_identity_of(fd, &is) < 0 || file_identity_at(wanted, &should_be) < 0 ||
            !file_identity_is(is, should_be))
                return err_set(e, -EPERM, "a volume or a link of the container hides %s", path);
        return 0;
}

int verify_command(int argc, char **argv)
{
        struct err e = { 0 };
        int r = argc == 3 ? 0
                          : err_set(&e, -EINVAL, "only vgpu-runtime's own hook may call 'verify'");

        if (r == 0)
                r = file_check(argv[0], SHARE_PATH, argv[1], &e);
        if (r == 0)
                r = file_check(argv[0], CONTAINER_PRELOAD, argv[2], &e);
        if (r < 0)
                fprintf(stderr, "vgpu-runtime: the container gets no GPU: %s\n", e.text);
        return r < 0;
}

int verify_put(struct spec *spec, const char *root, const char *share, const char *preload,
               struct err *e)
{
        static const char when[] = "createContainer";
        char self[PATH_MAX];
        const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

        if (length <= 0)
                return err_set(e, -errno, "cannot find this program: %s", strerror(errno));
        self[length] = '\0';
        json_t *hooks = spec_change(spec, SPEC_HOOKS);
        json_t *hook = json_pack("{s:s, s:[s,s,s,s,s]}", "path", self, "args", "vgpu-runtime",
                                 "verify", root, share, preload);
        if (!json_is_array(json_object_get(hooks, when)))
                json_object_set_new(hooks, when, json_array());
        return json_array_append_new(json_object_get(hooks, when), hook) < 0
                       ? err_set(e, -ENOMEM, "out of memory")
                       : 0;
}
