/* SPDX-License-Identifier: Apache-2.0 */
/* socket_file: the file of a listening unix socket goes with the program that made it, and with no other:
 * the next one's may lie in its place already. */
#pragma once

#include "file_identity.h"

/* Before the socket is closed: until then no other file can be taken for it. */
void socket_file_remove(const char *path, struct file_identity own);
