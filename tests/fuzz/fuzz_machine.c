/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the beginning of a machine file. It opens or is refused with a sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "machine.h"

const char *const fuzz_words[] = { "vgpusim", "\1", "\2", NULL };

void fuzz_one(const uint8_t *bytes, size_t count)
{
        struct machine machine;
        struct err e = { 0 };
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        char path[32];

        /* Half of them are long enough to be a machine. */
        if (write(fd, bytes, count) != (ssize_t)count ||
            (count % 2 && ftruncate(fd, sizeof(struct machine_file)) < 0))
                abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (machine_open(path, &machine, &e) == 0) {
                machine_now_ns(&machine);
                machine_close(&machine);
        } else if (!e.text[0]) {
                abort();
        }
        close(fd);
}
