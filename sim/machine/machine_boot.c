/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a machine's clock and locks, at its making and after a reboot of the host. */
#include "machine_boot.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"
#include "scope.h"

static unsigned hex_digit(char c)
{
        return isdigit((unsigned char)c) ? (unsigned)(c - '0')
                                         : (unsigned)(tolower((unsigned char)c) - 'a' + 10) & 15;
}

/* All zero where the kernel does not tell. */
static void boot_id_read(uint8_t id[16])
{
        char text[64] = "";
        autoclose int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        unsigned digits = 0;

        memset(id, 0, 16);
        for (ssize_t i = 0; i < length && digits < 32; i++) {
                if (!isxdigit((unsigned char)text[i]))
                        continue;
                id[digits / 2] = (uint8_t)((unsigned)id[digits / 2] << 4 | hex_digit(text[i]));
                digits++;
        }
}

static void unit_reset(struct machine_unit *unit)
{
        machine_lock_init(&unit->memory_lock);
        machine_lock_init(&unit->time_lock);
        unit->used_bytes = unit->outsider_bytes;
        unit->kept_rows = 0;
        unit->clock_ns = 0;
        unit->journal.count = 0;
        memset(unit->engines, 0, sizeof unit->engines);
        memset((void *)unit->active, 0, sizeof unit->active);
}

void machine_boot_reset(struct machine_file *file)
{
        struct machine_header *header = &file->header;
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        header->epoch_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        machine_lock_init(&header->lock);
        header->slots_high = 0;
        header->channels_high = 0;
        header->exports_high = 0;
        for (unsigned i = 0; i < MACHINE_UNITS; i++)
                unit_reset(&header->units[i]);
        boot_id_read(header->boot_id);
}

bool machine_boot_is_current(const struct machine_header *header)
{
        static const uint8_t unknown[16];
        uint8_t id[16];

        boot_id_read(id);
        /* A reboot may go unnoticed: better than that a program without /proc ends what all others hold. */
        return memcmp(id, unknown, sizeof id) == 0 ||
               memcmp(header->boot_id, unknown, sizeof id) == 0 ||
               memcmp(id, header->boot_id, sizeof id) == 0;
}

void machine_boot_check(struct machine_file *file, int fd)
{
        if (machine_boot_is_current(&file->header))
                return;
        flock(fd, LOCK_EX);
        if (!machine_boot_is_current(&file->header))
                machine_boot_reset(file);
        flock(fd, LOCK_UN);
}
