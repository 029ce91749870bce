/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a region that anybody wrote into. It opens or is refused with a sentence; whatever is in
 * it, nothing crashes, hangs or goes round.
 *
 * The bytes: a mark, then changes of four bytes each to words of a whole region (where it is a valid
 * one), or the file's first bytes as they are. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "region_check.h"

enum { DEVICES = 2, SLOTS = 6, CHANGE_BYTES = 4 };
#define MIB (UINT64_C(1) << 20)

static const char *path_of_process(void)
{
        static char path[64];

        snprintf(path, sizeof path, "/dev/shm/vgpu-fuzz-region-%d", getpid());
        return path;
}

/* Atomic words that decide something; the index of one is a byte. */
static _Atomic uint64_t *word_at(struct region_file *file, uint8_t index)
{
        struct region_slot *slot = &file->slots[1 + index / 16 % SLOTS];
        struct region_charges *charges = &slot->charges[index / 8 % 2 ? 0 : REGION_DEVICES];
        _Atomic uint64_t *words[] = {
                &charges->held, &charges->intent,       &charges->noted,  &charges->victim,
                &slot->state,   &file->devices[0].word, &file->reaped_ns, &slot->start_time,
        };

        return words[index % 8];
}

/* Values that mean something, so that few bytes say much. */
static uint64_t value_of(uint8_t kind, uint8_t a, uint8_t b)
{
        const uint64_t nobody = UINT64_C(0x7fffff00) + a; /* no process has such a number */

        switch (kind % 6) {
        case 0:
                return a;
        case 1:
                return UINT64_MAX - a;
        case 2: /* a state: of a dead process, or reaped by a slot */
                return nobody << 32 | (uint64_t)(b / 4) << 8 | b % 4;
        case 3: /* {units, number} */
                return (uint64_t)a << REGION_NUMBER_BITS | b;
        case 4: /* {units, slot, number} */
                return (uint64_t)a << (REGION_NUMBER_BITS + REGION_SLOT_BITS) |
                       (uint64_t)(b % 8) << REGION_NUMBER_BITS | b / 8;
        default:
                return (uint64_t)a << 56 | (uint64_t)b << 20 | a;
        }
}

static void change(struct region_file *file, const uint8_t *bytes, size_t count)
{
        for (; count >= CHANGE_BYTES; bytes += CHANGE_BYTES, count -= CHANGE_BYTES) {
                uint64_t value = value_of(bytes[1], bytes[2], bytes[3]);
                if (bytes[0] >= 0xf8)
                        file->slots_high = (uint32_t)value;
                else if (bytes[0] >= 0xf0)
                        file->device_count = (uint32_t)value;
                else
                        *word_at(file, bytes[0]) = value;
        }
}

static void use(struct region *region, bool is_checked)
{
        if (is_checked) /* takes its time over charges that do not add up */
                region_check_all(region, UINT64_MAX);
        if (region_join(region) < 0)
                return;
        region_charge(region, 0, REGION_DEVICE, 3 * MIB, 8 * MIB);
        region_charge(region, region_virtual(0), REGION_OTHER, MIB, UINT64_MAX);
        region_reap(region);
        region_refund(region, 0, REGION_DEVICE, MIB);
        region_check_own(region);
        if (region_used_bytes(region, 0) > REGION_UNITS_MAX << REGION_UNIT_BITS)
                abort();
        region_leave(region);
}

/* Whatever was there before, giving back more than there is ends at nothing. */
static void check_end(struct region *region)
{
        if (region_join(region) < 0)
                return;
        region_refund(region, 0, REGION_DEVICE, REGION_UNITS_MAX << REGION_UNIT_BITS);
        if (region_used_bytes(region, 0) != 0)
                abort();
        region_leave(region);
}

static void file_write(const char *path, const uint8_t *bytes, size_t count, bool is_whole)
{
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0 || write(fd, bytes, count) != (ssize_t)count ||
            (is_whole && ftruncate(fd, sizeof(struct region_file)) < 0))
                abort();
        close(fd);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        const char *path = path_of_process();
        struct region region;
        struct err e = { 0 };
        const bool has_header = count > 0 && bytes[0] % 4;

        if (has_header)
                unlink(path);
        else
                file_write(path, bytes, count, count % 2);
        if (region_open(path, DEVICES, &region, &e) == 0) {
                if (has_header)
                        change(region.file, bytes + 1, count - 1);
                use(&region, count > 0 && bytes[0] % 64 == 5);
                check_end(&region);
                region_close(&region);
        } else if (!e.text[0]) {
                abort();
        }
        unlink(path);
}
