/* SPDX-License-Identifier: Apache-2.0 */
/* real_runtime: find it, become it. */
#include "real_runtime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
/* Set while we become another program: who finds its own pid there was meant to be that one. */
#define PASSED "VGPU_RUNTIME_PASSED"

static bool is_ourselves(const char *path)
{
        struct stat own, other;

        return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
               own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

static bool is_runtime(const char *path)
{
        return access(path, X_OK) == 0 && !is_ourselves(path);
}

static bool find_in_path(const char *name, char ret_path[static PATH_MAX])
{
        const char *folders = getenv("PATH");

        for (folders = folders && *folders ? folders : PATH_DEFAULT; *folders;) {
                const size_t length = strcspn(folders, ":");
                char path[PATH_MAX];

                snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, name);
                if (length > 0 && is_runtime(path)) {
                        memcpy(ret_path, path, sizeof path);
                        return true;
                }
                folders += length + (folders[length] == ':');
        }
        return false;
}

static int find_wanted(const char *wanted, char ret_path[static PATH_MAX], struct err *e)
{
        if (!strchr(wanted, '/'))
                return find_in_path(wanted, ret_path)
                               ? 0
                               : err_set(e, -ENOENT, "the runtime '%.100s' is not in PATH", wanted);
        if (is_ourselves(wanted))
                return err_set(e, -ELOOP, "the configured runtime '%.100s' is vgpu-runtime itself",
                               wanted);
        if (access(wanted, X_OK) < 0)
                return err_set(e, -errno, "cannot run '%.100s': %s", wanted, strerror(errno));
        snprintf(ret_path, PATH_MAX, "%s", wanted);
        return 0;
}

int real_runtime_find(const char *wanted, char ret_path[static PATH_MAX], struct err *e)
{
        const char *named = getenv("VGPU_RUNTIME_REAL"), *passed = getenv(PASSED);

        if (passed && atoi(passed) == (int)getpid())
                return err_set(e, -ELOOP, "the configured runtime is vgpu-runtime itself");
        if (named && *named)
                return find_wanted(named, ret_path, e);
        if (wanted)
                return find_wanted(wanted, ret_path, e);
        if (find_in_path("runc", ret_path) || find_in_path("crun", ret_path))
                return 0;
        return err_set(e, -ENOENT, "neither runc nor crun is in PATH; name the runtime in %s",
                       "/etc/vgpu/runtime.conf (--runtime=PATH)");
}

int real_runtime_exec(const char *path, char *const *argv, struct err *e)
{
        char pid[16];

        snprintf(pid, sizeof pid, "%d", (int)getpid());
        setenv(PASSED, pid, 1);
        execv(path, argv);
        return err_set(e, -errno, "cannot run '%.150s': %s", path, strerror(errno));
}

int real_runtime_run(const char *path, char *const *argv, struct err *e)
{
        const pid_t child = fork();
        int status;

        if (child < 0)
                return err_set(e, -errno, "cannot start '%.150s': %s", path, strerror(errno));
        if (child == 0) {
                execv(path, argv);
                _exit(127);
        }
        while (waitpid(child, &status, 0) < 0)
                if (errno != EINTR)
                        return err_set(e, -errno, "cannot wait for '%.150s': %s", path,
                                       strerror(errno));
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
