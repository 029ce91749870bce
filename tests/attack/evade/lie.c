/* SPDX-License-Identifier: Apache-2.0 */
/* lie FIELD: writes into the container's region or want page what does harm if it is believed. `lie --list` prints
 * the fields. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu_page.h"
#include "region_layout.h"

#define REGION "/etc/vgpu/region"
#define WANT   "/etc/vgpu/want"

/* `count` times, `step` apart, the bytes at `offset` become `value`; RANDOM: anything. */
enum { RANDOM = 0x100 };
struct field {
        const char *name, *path;
        size_t offset, bytes, step, count;
        int value;
};

#define AT(member) offsetof(struct region_file, member), sizeof(((struct region_file *)0)->member)
#define ONCE       0, 1
#define SLOT(member)                                   \
        offsetof(struct region_file, slots[1].member), \
                sizeof(((struct region_file *)0)->slots[1].member), sizeof(struct region_slot), 40
#define WANTED(member)                                     \
        offsetof(struct gpu_want_file, devices[0].member), \
                sizeof(((struct gpu_want_file *)0)->devices[0].member), 0, 1

static const struct field fields[] = {
        { "magic", REGION, AT(magic), ONCE, 0 },
        { "version", REGION, AT(version), ONCE, 0xff },
        { "devices", REGION, AT(device_count), ONCE, 0xff },
        { "no-devices", REGION, AT(device_count), ONCE, 0 },
        { "slots-high", REGION, AT(slots_high), ONCE, 0xff },
        { "no-slots", REGION, AT(slots_high), ONCE, 0 },
        { "fault", REGION, AT(fault), ONCE, 0xff },
        { "reaped", REGION, AT(reaped_ns), ONCE, 0x7f },
        { "reap-took", REGION, AT(reap_took_ns), ONCE, 0x7f },
        { "ended", REGION, AT(ended_ns), ONCE, 0x7f },
        { "namespaces", REGION, AT(namespaces), ONCE, 0x5a },
        { "word", REGION, AT(devices[0].word), ONCE, 0 },
        { "word-full", REGION, AT(devices[0].word), ONCE, 0xff },
        { "refusals", REGION, AT(devices[0].refusals), ONCE, 0xff },
        { "context", REGION, AT(devices[0].context_bytes), ONCE, 0xff },
        { "measuring", REGION, AT(devices[0].measuring), ONCE, 1 },
        { "uuid", REGION, AT(devices[0].uuid), ONCE, 'x' },
        { "computes", REGION, AT(computes[0]), ONCE, 0xff },
        { "no-debt", REGION, AT(computes[0]), ONCE, 0 },
        { "costs", REGION, AT(costs), ONCE, 0xff },
        { "states", REGION, SLOT(state), 0xff },
        { "no-states", REGION, SLOT(state), 0 },
        { "starts", REGION, SLOT(start_time), 0xff },
        { "pids", REGION, SLOT(host_pid), 1 },
        { "names", REGION, SLOT(name), 27 },
        { "times", REGION, SLOT(gpu_ns), 0xff },
        { "pendings", REGION, SLOT(pendings), 0xff },
        { "held", REGION, SLOT(charges[0].held), 0xff },
        { "no-held", REGION, SLOT(charges[0].held), 0 },
        { "intent", REGION, SLOT(charges[0].intent), 0xff },
        { "victim", REGION, SLOT(charges[0].victim), 0x01 },
        { "slots", REGION, offsetof(struct region_file, slots[1]), 2 * sizeof(struct region_slot),
          ONCE, 0 },
        { "zeros", REGION, 0, 1 << 20, ONCE, 0 },
        { "random", REGION, 0, 1 << 20, ONCE, RANDOM },
        { "want-resident", WANT, WANTED(resident_bytes), 0xff },
        { "want-slots", WANT, WANTED(slots_high), 0xff },
        { "want-beats", WANT, WANTED(beats), 0xff },
        { "want-begun", WANT, WANTED(begun_ns), 0x7f },
        { "want-states", WANT, WANTED(slots), 2 },
        { "want-random", WANT, 0, sizeof(struct gpu_want_file), ONCE, RANDOM },
};

static int file_write(const struct field *field)
{
        const int fd = open(field->path, O_RDWR | O_CLOEXEC);
        const off_t bytes = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
        unsigned char *file =
                bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                          : MAP_FAILED;

        if (file == MAP_FAILED)
                return 1;
        for (size_t i = 0; i < field->count; i++)
                for (size_t j = 0; j < field->bytes; j++) {
                        const size_t at = field->offset + i * field->step + j;
                        /* All over the file, and the same each time. */
                        if (field->value == RANDOM && at % 61)
                                continue;
                        if (at < (size_t)bytes)
                                file[at] = (unsigned char)(field->value == RANDOM ? rand()
                                                                                  : field->value);
                }
        return 0;
}

int main(int argc, char **argv)
{
        for (size_t i = 0; argc == 2 && i < sizeof fields / sizeof *fields; i++) {
                if (strcmp(argv[1], "--list") == 0)
                        puts(fields[i].name);
                else if (strcmp(argv[1], fields[i].name) == 0)
                        return file_write(&fields[i]);
        }
        return argc == 2 && strcmp(argv[1], "--list") == 0 ? 0 : 2;
}
