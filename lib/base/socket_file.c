/* SPDX-License-Identifier: Apache-2.0 */
/* socket_file: see socket_file.h. */
#include "socket_file.h"

#include <unistd.h>

void socket_file_remove(const char *path, struct file_identity own)
{
        struct file_identity now;

        if (own.inode && file_identity_at(path, &now) == 0 && file_identity_is(own, now))
                unlink(path);
}
