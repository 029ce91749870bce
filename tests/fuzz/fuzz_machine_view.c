/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a machine file as commands read it that only look: it may be another user's, who writes anything
 * into it and cuts it short. Figures come out as they may, in bounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "machine_view.h"

const char *const fuzz_words[] = { "vgpusim", "\1", "\2", "\377\377\377\377", NULL };

static void put(int fd, size_t offset, const void *bytes, size_t count)
{
        if (pwrite(fd, bytes, count, (off_t)offset) != (ssize_t)count)
                abort();
}

/* The same bytes where each kind of thing lies; the first says where the file ends. */
static int machine_write(const uint8_t *bytes, size_t count)
{
        static const size_t offsets[] = {
                offsetof(struct machine_file, header.gpu_count),
                offsetof(struct machine_file, header.slots_high),
                offsetof(struct machine_file, header.gpus),
                offsetof(struct machine_file, header.units),
                offsetof(struct machine_file, slots),
                offsetof(struct machine_file, channels),
        };
        const uint64_t magic = MACHINE_MAGIC;
        const uint32_t version = MACHINE_VERSION;
        const size_t part = count < 4096 ? count : 4096;
        const int fd = memfd_create("fuzz", MFD_CLOEXEC);

        if (fd < 0)
                abort();
        for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
                put(fd, offsets[i], bytes, part);
        put(fd, 0, &magic, sizeof magic);
        put(fd, offsetof(struct machine_file, header.version), &version, sizeof version);
        if (ftruncate(fd, (off_t)sizeof(struct machine_file)) < 0)
                abort();
        return fd;
}

static void view_read(struct machine_view *view)
{
        const struct machine_header *header = view->header;
        struct machine_slot slot;

        if (header->gpu_count > MACHINE_GPUS)
                abort();
        for (unsigned i = 0; i < header->gpu_count; i++)
                if (!memchr(header->gpus[i].name, '\0', sizeof header->gpus[i].name) ||
                    !memchr(header->gpus[i].uuid, '\0', sizeof header->gpus[i].uuid))
                        abort();
        for (unsigned i = 0; i < MACHINE_UNITS; i += MACHINE_UNITS_PER_GPU)
                if (!(machine_view_load(view, i) >= 0))
                        abort();
        for (uint32_t i = 0; i < 4; i++)
                if (machine_view_slot(view, i, &slot) && !memchr(slot.path, '\0', sizeof slot.path))
                        abort();
        machine_view_channel_load(view, 0);
        machine_view_channel_load(view, UINT32_MAX);
        machine_view_users(view);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        struct machine_view view;
        struct err e = { 0 };
        const int fd = machine_write(bytes, count);
        char path[32];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (machine_view_open(path, &view, &e) == 0) {
                if (count && bytes[0] < 250 &&
                    ftruncate(fd, (off_t)(sizeof(struct machine_file) / 250 * bytes[0])) < 0)
                        abort();
                view_read(&view);
                machine_view_close(&view);
        } else if (!e.text[0]) {
                abort();
        }
        close(fd);
}
