/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu doctor: what a container is given, and how the library gets into programs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor.h"
#include "file.h"
#include "host_process.h"
#include "region_view.h"
#include "registry.h"
#include "scope.h"
#include "setting.h"
#include "share.h"

static const char preload_path[] = "/etc/ld.so.preload";

static bool is_ours(const char *path)
{
        const char *slash = strrchr(path, '/');

        return strcmp(slash ? slash + 1 : path, "libvgpu.so") == 0;
}

/* Looks at every library that the file names; is ours among them? */
static bool preloads_check(struct doctor *doctor, char *text, bool *ret_is_right)
{
        char *remainder = NULL;
        bool is_found = false;

        for (char *hash = text; (hash = strchr(hash, '#'));)
                memset(hash, ' ', strcspn(hash, "\n"));
        for (char *path = strtok_r(text, " \t\n:", &remainder); path;
             path = strtok_r(NULL, " \t\n:", &remainder)) {
                is_found = is_found || is_ours(path);
                if (path[0] != '/' || access(path, R_OK) == 0)
                        continue;
                *ret_is_right = false;
                doctor_say(doctor, VERDICT_WRONG, "install the library, or remove its line",
                           "%s names '%.200s', which cannot be read: every program prints an error",
                           preload_path, path);
        }
        return is_found;
}

/* Libraries of LD_PRELOAD come before those of the file: then the driver's functions are found first. */
static bool driver_is_behind(struct doctor *doctor)
{
        const char *text = getenv("LD_PRELOAD");
        const char *ours = text ? strstr(text, "libvgpu.so") : NULL;
        const char *driver = text ? strstr(text, "libcuda.so") : NULL;

        if (!driver || (ours && ours < driver))
                return true;
        doctor_say(
                doctor, VERDICT_WRONG, "remove the driver from LD_PRELOAD",
                "LD_PRELOAD names the driver before libvgpu.so: programs that are linked with it "
                "are not limited");
        return false;
}

void doctor_preload(struct doctor *doctor)
{
        autofree char *text = NULL;
        bool is_right = driver_is_behind(doctor);
        bool is_found =
                file_read(preload_path, &text) == 0 && preloads_check(doctor, text, &is_right);

        if (!is_found && access(SHARE_PATH, F_OK) == 0)
                doctor_say(doctor, VERDICT_WRONG,
                           "mount libvgpu.so and an /etc/ld.so.preload with its path into the "
                           "container, read-only",
                           "this container has a share, and %s does not name libvgpu.so: its "
                           "programs are not limited",
                           preload_path);
        else if (is_found && is_right)
                doctor_say(doctor, VERDICT_OK, NULL, "%s has libvgpu.so: every program is limited",
                           preload_path);
        else if (is_right)
                doctor_say(doctor, VERDICT_OK, NULL,
                           "%s does not name libvgpu.so: programs under vgpu run are limited, "
                           "others are not",
                           preload_path);
}

/* Is the folder a mount of its own, which nobody can rename? */
static bool is_mount(const char *path)
{
        autofree char *text = NULL;
        char wanted[64];

        snprintf(wanted, sizeof wanted, " %s ", path);
        return file_read("/proc/self/mountinfo", &text) < 0 || strstr(text, wanted);
}

static bool mounts_are_right(struct doctor *doctor)
{
        struct statvfs fs;
        bool are_right = true;

        if (statvfs(SHARE_PATH, &fs) == 0 && !(fs.f_flag & ST_RDONLY)) {
                doctor_say(doctor, VERDICT_WRONG, "mount it read-only",
                           "'%s' can be written: the container can raise its own limit",
                           SHARE_PATH);
                are_right = false;
        }
        for (const char *const *path = (const char *const[]){ "/etc/vgpu", "/etc", NULL }; *path;
             path++) {
                if (is_mount(*path))
                        continue;
                doctor_say(doctor, VERDICT_WRONG,
                           "mount the folder itself (/etc: onto itself), not only files in it",
                           "'%s' is not a mount: the container can rename it and its share", *path);
                are_right = false;
        }
        return are_right;
}

int doctor_region_try(const char *path, struct err *e)
{
        /* As region_open() opens it: kernels refuse that in /tmp if it is another user's. */
        autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        struct region region;

        if (fd < 0)
                return err_set(e, -errno, "cannot open region '%s': %s", path, strerror(errno));
        if (lseek(fd, 0, SEEK_END) == 0)
                return 0; /* the first program makes it */
        const int r = region_view_open(path, &region, e);
        if (r == 0)
                region_view_close(&region);
        return r;
}

static bool region_is_right(struct doctor *doctor, const struct share_copy *copy)
{
        struct err e = { 0 };

        if (doctor_region_try(copy->region, &e) == 0)
                return true;
        doctor_say(doctor, VERDICT_WRONG,
                   "mount the region's file into the container, writable by its users",
                   "the share's region: %s", e.text);
        return false;
}

void doctor_container(struct doctor *doctor)
{
        struct share share = { 0 };
        struct err e = { 0 };

        if (access(SHARE_PATH, F_OK) < 0) {
                doctor_say(doctor, VERDICT_OK, NULL,
                           "there is no '%s': not a container with a share", SHARE_PATH);
                return;
        }
        if (share_open(SHARE_PATH, false, &share, &e) < 0) {
                doctor_say(doctor, VERDICT_WRONG, "recreate the container", "%s", e.text);
                return;
        }
        bool is_right = mounts_are_right(doctor);
        is_right = region_is_right(doctor, share_current(&share)) && is_right;
        if (is_right)
                doctor_say(doctor, VERDICT_OK, NULL, "the container has a share of %u GPU%s",
                           share_current(&share)->device_count,
                           share_current(&share)->device_count == 1 ? "" : "s");
        share_close(&share);
}

/* False: it was said that the agent does not answer. */
static bool registry_answers(struct doctor *doctor)
{
        struct registry_request request = { .pid = (uint32_t)getpid() };
        struct registry_reply reply;
        struct err e = { 0 };

        if (registry_ask(REGISTRY_PATH, &request, &reply, &e) == 0)
                return true;
        doctor_say(doctor, VERDICT_WRONG,
                   "restart the node's agent, or remove its socket from the container", "%s",
                   e.text);
        return false;
}

static bool group_is_right(struct doctor *doctor)
{
        struct setting_value value = { 0 };
        struct err e = { 0 };
        int group;

        if (setting_read(SETTING_COMPATIBILITY, -1, &value, &e) <= 0)
                return true;
        group = (int)(value.number % COMPATIBILITY_OPEN_KERNEL);
        if (!group || host_process_of_group(host_process_visible_self(), group))
                return true;
        doctor_say(doctor, VERDICT_WRONG, "unset VGPU_COMPAT, or choose the other version (1 or 2)",
                   "mode %d needs a version of control groups that is not mounted here", group);
        return false;
}

void doctor_processes(struct doctor *doctor)
{
        const char *way = NULL;

        if (!group_is_right(doctor))
                return;
        if (access(REGISTRY_PATH, F_OK) == 0) {
                if (!registry_answers(doctor))
                        return;
                way = "the node's agent tells a container its processes";
        } else if (host_process_self()) {
                way = "the host's /proc tells a container its processes";
        } else if (host_process_is_initial()) {
                way = "the driver's pids are those of this namespace";
        } else if (host_process_driver_is_open()) {
                way = "the open kernel modules speak the pids of this namespace";
        }
        if (way)
                doctor_say(doctor, VERDICT_OK, NULL, "%s", way);
        else
                doctor_say(doctor, VERDICT_NOTE,
                           "for certainty, mount the agent's socket at " REGISTRY_PATH
                           ", or set VGPU_COMPAT",
                           "a program learns its pid from the driver's list, with its first "
                           "context");
}
