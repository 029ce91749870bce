/* SPDX-License-Identifier: Apache-2.0 */
/* A reference is an open file of the machine, as a real handle is one of a device node. A lock of the open
 * file, which the kernel takes away with it, says that it is there; where it lies, and the file's position,
 * say to what it refers. */
#include "reference.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scope.h"

enum { INDEX_BITS = 12 };
static_assert(MACHINE_EXPORTS == 1 << INDEX_BITS, "an index fits its bits");

static off_t position_of(uint32_t index, uint64_t number)
{
        return (off_t)(number << INDEX_BITS | index);
}

static struct flock lock_at(off_t position, short type)
{
        return (struct flock){
                .l_type = type, .l_whence = SEEK_SET, .l_start = position, .l_len = 1
        };
}

int reference_new(const struct machine *machine, uint32_t index, uint64_t number)
{
        const off_t position = position_of(index, number);
        struct flock lock = lock_at(position, F_RDLCK);
        char path[64];

        /* An open file of its own: a duplicate of the machine's would live as long as the process. */
        snprintf(path, sizeof path, "/proc/self/fd/%d", machine->fd);
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0 || lseek(fd, position, SEEK_SET) < 0)
                return -errno;
        return steal_fd(fd);
}

int reference_row(const struct machine *machine, int fd, uint32_t *ret_index,
                  struct machine_export *ret_row)
{
        struct stat own, other;
        const off_t position = lseek(fd, 0, SEEK_CUR);
        const uint32_t index = (uint32_t)position & (MACHINE_EXPORTS - 1);

        if (position < 0 || fstat(machine->fd, &own) < 0 || fstat(fd, &other) < 0 ||
            own.st_dev != other.st_dev || own.st_ino != other.st_ino ||
            index >= atomic_load(&machine->file->header.exports_high))
                return -EINVAL;
        const struct machine_export *row = &machine->file->exports[index];
        if (__atomic_load_n(&row->kind, __ATOMIC_ACQUIRE) != EXPORT_HANDLE ||
            row->number != (uint64_t)position >> INDEX_BITS)
                return -EINVAL;
        *ret_index = index;
        *ret_row = *row;
        return 0;
}

bool reference_is_held(const struct machine *machine, uint32_t index, uint64_t number)
{
        struct flock lock = lock_at(position_of(index, number), F_WRLCK);

        /* Without an answer it counts. */
        return fcntl(machine->fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}
