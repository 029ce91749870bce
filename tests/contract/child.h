/* SPDX-License-Identifier: Apache-2.0 */
/* child: a body of a test in a child with a folder of its own, as it mounts over folders or forbids itself calls. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

enum { PASSED, REFUSED = 77, CANNOT_MOUNT = 78 };

static char folder[64];

static inline const char *path_of(const char *name)
{
        static char path[96];

        snprintf(path, sizeof path, "%s/%s", folder, name);
        return path;
}

/* For this process alone. */
static inline void child_mount(const char *path, const char *type, const char *options)
{
        if (unshare(getuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", path, type, 0, options) < 0)
                _exit(CANNOT_MOUNT);
}

/* What the child ends with: its status, or −signal. */
static inline int child_run(void (*body)(void))
{
        int status;

        snprintf(folder, sizeof folder, "/tmp/vgpu-test-child-XXXXXX");
        assert_non_null(mkdtemp(folder));
        const pid_t child = fork();
        if (child == 0) {
                body();
                _exit(PASSED);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        rmdir(folder);
        return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static inline void check(void (*body)(void))
{
        const int status = child_run(body);

        if (status == CANNOT_MOUNT)
                skip();
        CHECK_EQ(status, PASSED);
}

static inline void expect(bool is_right, int line)
{
        if (is_right)
                return;
        fprintf(stderr, "line %d does not hold\n", line);
        _exit(REFUSED);
}
#define EXPECT(claim) expect(claim, __LINE__)
