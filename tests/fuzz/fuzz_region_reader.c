/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a container's region as vgpu-node reads it: a file that the container can write and cut
 * short. Figures come out as they may, in bounds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "fuzz.h"
#include "region_layout.h"
#include "region_reader.h"

static char path[64];

static void path_remove(void)
{
        unlink(path);
}

static void put(int fd, size_t offset, const void *bytes, size_t count)
{
        if (pwrite(fd, bytes, count, (off_t)offset) != (ssize_t)count)
                abort();
}

/* The same bytes where each kind of thing lies; the first byte says where the file ends. */
static void write_region(const uint8_t *bytes, size_t count)
{
        static const size_t offsets[] = {
                offsetof(struct region_file, slots_high),
                offsetof(struct region_file, devices),
                offsetof(struct region_file, devices) +
                        REGION_DEVICES * sizeof(struct region_device),
                offsetof(struct region_file, computes),
                offsetof(struct region_file, slots) + sizeof(struct region_slot),
        };
        const uint64_t magic = REGION_MAGIC;
        const uint32_t version = REGION_VERSION;
        const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0)
                abort();
        put(fd, 0, &magic, sizeof magic);
        put(fd, sizeof magic, &version, sizeof version);
        for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
                put(fd, offsets[i], bytes, count < 4096 ? count : 4096);
        if (count && bytes[0] < 250 &&
            ftruncate(fd, (off_t)(sizeof(struct region_file) / 250 * bytes[0])) < 0)
                abort();
        close(fd);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        struct reader_process process;
        struct reader_device device;
        struct region_reader view;
        struct reader_use use;
        struct err e;

        if (!*path) {
                snprintf(path, sizeof path, "/dev/shm/vgpu-fuzz-region-%d", (int)getpid());
                atexit(path_remove);
        }
        write_region(bytes, count);
        if (region_reader_open(path, &view, &e) < 0)
                return;
        if (region_reader_device(&view, 0, clock_now_ns(), &device) == 0 &&
            !(device.busy_ratio >= 0 && device.busy_ratio <= 1.01))
                abort();
        for (uint32_t slot = 1; slot <= view.slots && slot < 4; slot++) {
                if (region_reader_process(&view, slot, &process) == 1 &&
                    strnlen(process.name, sizeof process.name) == sizeof process.name)
                        abort();
                region_reader_use(&view, slot, 0, &use);
        }
        region_reader_close(&view);
}
