/* SPDX-License-Identifier: Apache-2.0 */
/* The region and the want page: no writer of ours makes them longer than their layout. */
#include "tenant_files.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu_page.h"
#include "region_layout.h"
#include "scope.h"
#include "share_folder.h"

enum { BLOCK_MOST = 16 << 20 };

static const struct {
        const char *name;
        uint64_t bytes;
} files[TENANT_FILES] = {
        { "region", sizeof(struct region_file) },
        { "want", sizeof(struct gpu_want_file) },
};

/* Blocks beyond the end can be held, too. */
static uint64_t excess_of(const struct stat *status, uint64_t bytes)
{
        const uint64_t size = (uint64_t)status->st_size, blocks = (uint64_t)status->st_blocks * 512;
        const uint64_t slack = (uint64_t)status->st_blksize;

        if (size > bytes)
                return size - bytes;
        return blocks > bytes + slack ? blocks - bytes : 0;
}

/* A container that holds its file back by a lease (fcntl(2)) is reported at once, and cut when that is broken. What a
 * cut leaves is not the container's doing, as some file systems give large blocks; much more can be attributes. */
static uint64_t file_cut(const char *path, uint64_t bytes)
{
        struct stat status;

        if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode))
                return 0;
        const uint64_t excess = excess_of(&status, bytes);
        if (!excess)
                return 0;
        autoclose int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 || fstat(fd, &status) < 0)
                return excess;
        const uint64_t left = excess_of(&status, bytes);
        return left > BLOCK_MOST ? excess : excess > left ? excess - left : 0;
}

void tenant_files_path(const char *share_path, unsigned index, char ret_path[static SHARE_TEXT])
{
        share_folder_beside(share_path, files[index].name, ret_path);
}

uint64_t tenant_files_cut(const char *share_path)
{
        char path[SHARE_TEXT];
        uint64_t cut = 0;

        for (unsigned i = 0; i < TENANT_FILES; i++) {
                tenant_files_path(share_path, i, path);
                cut += file_cut(path, files[i].bytes);
        }
        return cut;
}
