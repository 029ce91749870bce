/* SPDX-License-Identifier: Apache-2.0 */
/* The file "decided" of a share's folder. */
#include "share_decided.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "fd.h"
#include "file.h"
#include "scope.h"
#include "share_folder.h"

/* Told from damage, not from malice: the file is root's. Never 0. */
static uint32_t row_checksum(const struct share_decided *row)
{
        const unsigned char *bytes = (const unsigned char *)row;
        uint32_t hash = 2166136261u;

        for (size_t i = 0; i < offsetof(struct share_decided, checksum); i++)
                hash = (hash ^ bytes[i]) * 16777619u;
        return hash ? hash : 1;
}

static bool rows_are_whole(const struct share_decided *rows, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                if (rows[i].checksum && rows[i].checksum != row_checksum(&rows[i]))
                        return false;
        return true;
}

int share_decided_write(const char *path, const struct share_copy *copy, struct err *e)
{
        struct share_decided rows[SHARE_DEVICES] = { 0 };
        char file[SHARE_TEXT];

        for (unsigned i = 0; i < copy->device_count && i < SHARE_DEVICES; i++) {
                rows[i].limit_bytes = copy->devices[i].limit_bytes;
                rows[i].cores_percent = copy->devices[i].cores_percent;
                rows[i].checksum = row_checksum(&rows[i]);
        }
        share_folder_beside(path, "decided", file);
        const int r = file_replace(file, rows, copy->device_count * sizeof *rows, 0600);
        return r < 0 ? err_set(e, r, "cannot write '%.150s': %s", file, strerror(-r)) : 0;
}

int share_decided_read(const char *path, unsigned device_count, struct share_decided **ret_rows)
{
        autofree char *bytes = NULL;
        char file[SHARE_TEXT];
        size_t count = 0;

        share_folder_beside(path, "decided", file);
        autoclose int fd = open(file, O_RDONLY | O_CLOEXEC);
        const int r = fd < 0 ? -errno : fd_read_all(fd, &bytes, &count);
        if (file_error_passes(r))
                return r;
        struct share_decided *rows = (struct share_decided *)(void *)bytes;
        const bool is_whole = r == 0 && count == device_count * sizeof *rows &&
                              rows_are_whole(rows, device_count);
        *ret_rows = is_whole ? rows : NULL;
        if (is_whole)
                bytes = NULL; /* the caller's */
        return 0;
}
