/* SPDX-License-Identifier: Apache-2.0 */
/* The file "decided" of a share's folder. */
#include "share_decided.h"

#include <fcntl.h>
#include <string.h>

#include "fd.h"
#include "file.h"
#include "scope.h"
#include "share_folder.h"

int share_decided_write(const char *path, const struct share_copy *copy, struct err *e)
{
        struct share_decided rows[SHARE_DEVICES] = { 0 };
        char file[SHARE_TEXT];

        for (unsigned i = 0; i < copy->device_count && i < SHARE_DEVICES; i++) {
                rows[i].limit_bytes = copy->devices[i].limit_bytes;
                rows[i].cores_percent = copy->devices[i].cores_percent;
        }
        share_folder_beside(path, "decided", file);
        const int r = file_replace(file, rows, copy->device_count * sizeof *rows, 0600);
        return r < 0 ? err_set(e, r, "cannot write '%.150s': %s", file, strerror(-r)) : 0;
}

struct share_decided *share_decided_read(const char *path, unsigned device_count)
{
        autofree char *bytes = NULL;
        char file[SHARE_TEXT];
        size_t count = 0;

        share_folder_beside(path, "decided", file);
        autoclose int fd = open(file, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fd_read_all(fd, &bytes, &count) < 0 ||
            count != device_count * sizeof(struct share_decided))
                return NULL;
        return (struct share_decided *)(void *)steal(bytes);
}
