/* SPDX-License-Identifier: Apache-2.0 */
/* The share's devices, kept in the file "kept" of its folder. */
#include "tenant_throttle.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "file.h"
#include "log.h"
#include "scope.h"
#include "share_folder.h"

enum { THROTTLED_PERCENT = 1, THROTTLED_BYTES = 1 };

static void kept_path(const struct held_share *held, char ret_path[SHARE_TEXT])
{
        share_folder_beside(held->path, "kept", ret_path);
}

static void change(struct share_book *book, struct held_share *held, const struct share_copy *copy,
                   const char *how)
{
        struct err e = { 0 };

        if (share_book_change(book, held, copy, &e) < 0)
                log_warn("share '%s' cannot be %s: %s", held->name, how, e.text);
        else
                log_info("share '%s' is %s", held->name, how);
}

bool tenant_is_throttled(const struct share_copy *copy)
{
        return copy->device_count > 0 && copy->devices[0].limit_bytes == THROTTLED_BYTES &&
               copy->devices[0].cores_percent == THROTTLED_PERCENT;
}

bool tenant_kept(const struct held_share *held, struct share_device ret_devices[SHARE_DEVICES])
{
        char path[SHARE_TEXT];
        autofree char *bytes = NULL;
        size_t count = 0;

        kept_path(held, path);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fd_read_all(fd, &bytes, &count) < 0 ||
            count != SHARE_DEVICES * sizeof *ret_devices)
                return false;
        memcpy((void *)ret_devices, bytes, count);
        return true;
}

int tenant_keep(const struct held_share *held, const struct share_device devices[SHARE_DEVICES],
                struct err *e)
{
        char path[SHARE_TEXT];

        kept_path(held, path);
        const int r =
                file_replace(path, (const void *)devices, SHARE_DEVICES * sizeof *devices, 0600);
        return r < 0 ? err_set(e, r, "cannot write '%.150s': %s", path, strerror(-r)) : 0;
}

void tenant_throttle(struct share_book *book, struct held_share *held)
{
        struct share_copy copy;
        struct err e = { 0 };

        memcpy(&copy, share_current(&held->share), sizeof copy);
        if (tenant_is_throttled(&copy)) /* what is kept is not what it has now */
                return;
        if (tenant_keep(held, copy.devices, &e) < 0) {
                log_warn("share '%s' is not throttled: %s", held->name, e.text);
                return;
        }
        for (unsigned i = 0; i < copy.device_count; i++) {
                struct share_device *device = &copy.devices[i];

                device->cores_percent = THROTTLED_PERCENT;
                device->cores_max_percent = 0;
                device->policy = SHARE_POLICY_FIXED;
                /* What is held stays; a byte is less than anybody asks for. */
                device->limit_bytes = device->physical_bytes = THROTTLED_BYTES;
        }
        change(book, held, &copy, "throttled");
}

/* Somebody may have given it other limits meanwhile: its pod, or `vgpu set`. */
void tenant_release(struct share_book *book, struct held_share *held)
{
        struct share_copy copy;
        char path[SHARE_TEXT];

        memcpy(&copy, share_current(&held->share), sizeof copy);
        const bool is_kept = tenant_is_throttled(&copy) && tenant_kept(held, copy.devices);
        if (is_kept)
                change(book, held, &copy, "given back what it had");
        /* Last: whoever is killed before gives back again. */
        kept_path(held, path);
        unlink(path);
}
