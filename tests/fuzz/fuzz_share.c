/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a share file. It opens or is refused with a sentence; one that opens keeps its promises:
 * no more devices than there are places, texts that end, a physical part within the limit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "share.h"

const char *const fuzz_words[] = { "GPU-", "\1", "\2", NULL };

static void check(const struct share_copy *copy)
{
        if (copy->device_count > SHARE_DEVICES || !memchr(copy->name, '\0', sizeof copy->name) ||
            !memchr(copy->region, '\0', sizeof copy->region))
                abort();
        for (unsigned i = 0; i < copy->device_count; i++)
                if (copy->devices[i].physical_bytes > copy->devices[i].limit_bytes)
                        abort();
        share_find_device(copy, "GPU-0");
}

static void open_and_check(const char *path, bool must_open)
{
        struct share share;
        struct err e = { 0 };

        if (share_open(path, false, &share, &e) == 0) {
                check(share_current(&share));
                share_close(&share);
        } else if (must_open || !e.text[0]) {
                abort();
        }
}

/* The file as it is; half of them are long enough to be a share. */
static void try_file(const uint8_t *bytes, size_t count)
{
        int fd = memfd_create("fuzz", MFD_CLOEXEC);
        char path[32];

        if (write(fd, bytes, count) != (ssize_t)count ||
            (count % 2 && ftruncate(fd, sizeof(struct share_file)) < 0))
                abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        open_and_check(path, false);
        close(fd);
}

/* The content of a share, behind whose checksum no random bytes would get: what may be written may be
 * read. */
static void try_content(const uint8_t *bytes, size_t count)
{
        struct share_copy content = { .device_count = 1 };
        struct err e = { 0 };
        char path[64];

        memcpy((void *)&content, bytes, count < sizeof content ? count : sizeof content);
        snprintf(path, sizeof path, "/dev/shm/vgpu-fuzz-share-%d", getpid());
        unlink(path);
        if (share_create(path, &content, &e) == 0)
                open_and_check(path, true);
        else if (!e.text[0])
                abort();
        unlink(path);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        if (count > 0 && bytes[0] % 2)
                try_file(bytes, count);
        else
                try_content(bytes, count);
}
