/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a machine file without taking part in it. */
#include "machine_view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "machine_boot.h"
#include "process.h"
#include "scope.h"
#include "timeline.h"

/* It ends, and has nothing that would move a terminal's cursor. */
static void text_bound(char *text, size_t size)
{
        text[size - 1] = '\0';
        for (; *text; text++)
                if (*text < ' ' || *text > '~')
                        *text = '?';
}

static void instance_bound(struct machine_gpu_instance *instance)
{
        if (instance->unit >= MACHINE_UNITS)
                instance->is_used = instance->unit = 0;
        for (unsigned c = 0; c < sizeof instance->compute / sizeof *instance->compute; c++)
                text_bound(instance->compute[c].uuid, sizeof instance->compute[c].uuid);
}

static void header_bound(struct machine_header *header)
{
        if (header->gpu_count > MACHINE_GPUS)
                header->gpu_count = MACHINE_GPUS;
        if (atomic_load(&header->slots_high) > MACHINE_SLOTS)
                atomic_store(&header->slots_high, MACHINE_SLOTS);
        if (!isfinite(header->time_scale) || header->time_scale <= 0 || header->time_scale > 1e6)
                header->time_scale = 1;
        text_bound(header->driver_text, sizeof header->driver_text);
        for (unsigned i = 0; i < MACHINE_KERNELS; i++)
                text_bound(header->kernels[i].name, sizeof header->kernels[i].name);
        for (unsigned i = 0; i < MACHINE_GPUS; i++) {
                struct machine_gpu *gpu = &header->gpus[i];

                text_bound(gpu->name, sizeof gpu->name);
                text_bound(gpu->preset, sizeof gpu->preset);
                text_bound(gpu->uuid, sizeof gpu->uuid);
                for (unsigned k = 0; k < sizeof gpu->instances / sizeof *gpu->instances; k++)
                        instance_bound(&gpu->instances[k]);
        }
}

/* Opening a device or a pipe does something already: what it is comes first. */
static int file_open(const char *path)
{
        autoclose int found = open(path, O_PATH | O_CLOEXEC);
        char opened[64];
        struct stat st;

        if (found < 0 || fstat(found, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct machine_header))
                return -EPROTO;
        snprintf(opened, sizeof opened, "/proc/self/fd/%d", found);
        const int fd = open(opened, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int machine_view_open(const char *path, struct machine_view *ret_view, struct err *e)
{
        autoclose int fd = file_open(path);
        autofree struct machine_header *header = malloc(sizeof *header);

        if (fd == -EPROTO)
                return err_set(e, fd, "'%s' is not a machine file; make one with 'vgpu sim create'",
                               path);
        if (fd < 0)
                return err_set(e, fd, "cannot open machine '%s': %s", path, strerror(-fd));
        if (!header)
                return err_set(e, -ENOMEM, "out of memory");
        const int r = machine_file_check(fd, path, e);
        if (r < 0)
                return r;
        /* Checked once more in the copy: the file may be another by now. */
        if (pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header ||
            atomic_load(&header->magic) != MACHINE_MAGIC || header->version != MACHINE_VERSION)
                return err_set(e, -EPROTO, "'%s' is not a machine of this release", path);
        header_bound(header);
        *ret_view = (struct machine_view){ .fd = steal_fd(fd), .header = steal(header) };
        return 0;
}

void machine_view_close(struct machine_view *view)
{
        if (!view->header)
                return;
        close(view->fd);
        free(view->header);
        *view = (struct machine_view){ .fd = -1 };
}

/* The kernel takes the owner out of a robust lock when its thread ends; then whoever cleans up has it. */
static bool life_is_held(const struct machine_slot *slot)
{
        const unsigned holder = (unsigned)slot->life.__data.__lock & FUTEX_TID_MASK;

        return holder != 0 && holder == slot->owner;
}

bool machine_view_slot(const struct machine_view *view, uint32_t index,
                       struct machine_slot *ret_slot)
{
        const off_t at = (off_t)(offsetof(struct machine_file, slots) + index * sizeof *ret_slot);

        if (index >= MACHINE_SLOTS ||
            pread(view->fd, ret_slot, sizeof *ret_slot, at) != (ssize_t)sizeof *ret_slot)
                return false;
        ret_slot->path[sizeof ret_slot->path - 1] = '\0';
        return atomic_load(&ret_slot->state) == SLOT_LIVE && ret_slot->pid > 0 &&
               life_is_held(ret_slot);
}

unsigned machine_view_users(const struct machine_view *view)
{
        const uint32_t high = atomic_load(&view->header->slots_high);
        struct machine_slot slot;
        unsigned users = 0;

        /* What lived before a reboot has nobody to say that it does no more. */
        for (uint32_t i = 0; i < high && machine_boot_is_current(view->header); i++)
                users += machine_view_slot(view, i, &slot);
        return users;
}

static double buckets_load(const struct machine_view *view, const struct machine_bucket *buckets)
{
        const struct machine_header *header = view->header;
        const uint64_t real_ns = clock_now_ns();
        const uint64_t span_ns = real_ns > header->epoch_ns ? real_ns - header->epoch_ns : 0;
        const double load = timeline_buckets_load(
                buckets, (uint64_t)((double)span_ns * header->time_scale), NS_PER_S);

        return load < 1 ? load : 1;
}

double machine_view_load(const struct machine_view *view, unsigned unit)
{
        return buckets_load(view, view->header->units[unit].engines[ENGINE_COMPUTE].buckets);
}

double machine_view_channel_load(const struct machine_view *view, uint32_t channel)
{
        struct machine_bucket buckets[MACHINE_BUCKETS];
        const off_t at = (off_t)(offsetof(struct machine_file, channels) +
                                 (channel - 1) * sizeof(struct machine_channel) +
                                 offsetof(struct machine_channel, buckets));

        if (!channel || channel > MACHINE_CHANNELS ||
            pread(view->fd, buckets, sizeof buckets, at) != (ssize_t)sizeof buckets)
                return 0;
        return buckets_load(view, buckets);
}
