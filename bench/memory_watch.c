/* SPDX-License-Identifier: Apache-2.0 */
/* memory_watch PATH: how much of the GPU's memory each process has at most, by the machine's own account, a thousand
 * times a second until standard input ends. Contexts do not count.
 *
 * Prints "gpu BYTES OF BYTES" and "process PID BYTES", one line each. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "machine.h"
#include "slot.h"

enum { PROCESSES_MOST = 256, SAMPLE_MS = 1 };

struct watch {
        struct machine machine;
        uint64_t used_bytes; /* at most */
        unsigned count;
        struct {
                int32_t pid;
                uint64_t bytes;
        } processes[PROCESSES_MOST];
};

static void note(struct watch *watch, int32_t pid, uint64_t bytes)
{
        unsigned i = 0;

        while (i < watch->count && watch->processes[i].pid != pid)
                i++;
        if (i == PROCESSES_MOST)
                return;
        if (i == watch->count)
                watch->processes[watch->count++].pid = pid;
        if (bytes > watch->processes[i].bytes)
                watch->processes[i].bytes = bytes;
}

/* All of one moment. */
static void sample(struct watch *watch)
{
        struct machine_unit *unit = machine_unit(&watch->machine, 0);
        const uint32_t high = atomic_load(&watch->machine.file->header.slots_high);

        machine_lock(&unit->memory_lock);
        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot *slot = &watch->machine.file->slots[i];
                const struct machine_slot_unit *held = &slot->units[0];

                if (!slot_is_gone(&watch->machine, i))
                        note(watch, slot->pid,
                             held->device_bytes + held->managed_bytes - held->context_bytes);
        }
        if (unit->used_bytes > watch->used_bytes)
                watch->used_bytes = unit->used_bytes;
        machine_unlock(&unit->memory_lock);
}

int main(int argc, char **argv)
{
        static struct watch watch;
        struct pollfd input = { .fd = STDIN_FILENO };
        struct err e = { 0 };

        if (argc != 2) {
                fputs("Usage: memory_watch PATH\n", stderr);
                return 2;
        }
        if (machine_open(argv[1], &watch.machine, &e) < 0) {
                fprintf(stderr, "memory_watch: %s\n", e.text);
                return 1;
        }
        while (poll(&input, 1, SAMPLE_MS) == 0)
                sample(&watch);
        printf("gpu %llu of %llu\n", (unsigned long long)watch.used_bytes,
               (unsigned long long)machine_unit(&watch.machine, 0)->memory_bytes);
        for (unsigned i = 0; i < watch.count; i++)
                printf("process %d %llu\n", watch.processes[i].pid,
                       (unsigned long long)watch.processes[i].bytes);
        return 0;
}
