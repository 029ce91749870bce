/* SPDX-License-Identifier: Apache-2.0 */
/* static_gpu MIB [graphics|mps]: a static binary that speaks to the simulated GPU itself, as one would that speaks to
 * the driver's device nodes: no dynamic linker, no preload, no driver library. With a word it is on the driver's list
 * of those who draw, or of MPS's clients, as programs of Vulkan and OpenGL are.
 *
 * static_gpu --layout SLOT: makes 64 slots of processes in the machine, and prints what a program that writes to one of
 * them itself must know: see bare.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "slot.h"
#include "unit_memory.h"

enum { SLOTS = 64 };

/* Their locks must be there; those with high numbers are nobody's then. */
static void slots_make(struct machine *machine)
{
        struct machine_slot *slots[SLOTS];
        unsigned count = 0;

        while (count < SLOTS && slot_attach(machine, &slots[count]) == 0)
                count++;
        while (count-- > 0)
                slot_detach(machine, slots[count]);
}

static int layout_print(struct machine *machine, unsigned number)
{
        const size_t slot =
                offsetof(struct machine_file, slots) + number * sizeof(struct machine_slot);

        slots_make(machine);
        printf("life=%zu state=%zu pid=%zu namespace=%zu start=%zu owner=%zu bytes=%zu "
               "contexts=%zu\n",
               slot + offsetof(struct machine_slot, life),
               slot + offsetof(struct machine_slot, state),
               slot + offsetof(struct machine_slot, pid),
               slot + offsetof(struct machine_slot, pid_namespace),
               slot + offsetof(struct machine_slot, start_time),
               slot + offsetof(struct machine_slot, owner),
               slot + offsetof(struct machine_slot, units[0].device_bytes),
               slot + offsetof(struct machine_slot, units[0].contexts));
        return 0;
}

static uint32_t list_of(const char *word)
{
        return strcmp(word, "graphics") == 0 ? MACHINE_LIST_GRAPHICS : MACHINE_LIST_MPS;
}

int main(int argc, char **argv)
{
        struct machine_slot *slot;
        struct machine machine;
        struct err e = { 0 };
        char ignored[64];

        if (argc < 2 || machine_open_default(&machine, &e) < 0) {
                printf("barred: %s\n", e.text);
                return 2;
        }
        if (strcmp(argv[1], "--layout") == 0)
                return layout_print(&machine, argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0);
        if (slot_attach(&machine, &slot) < 0 ||
            unit_charge(&machine, 0, slot, strtoull(argv[1], NULL, 10) << 20) < 0) {
                printf("barred: no memory\n");
                return 1;
        }
        slot->units[0].contexts = 1;
        slot->units[0].list = argc > 2 ? list_of(argv[2]) : MACHINE_LIST_COMPUTE;
        printf("0\n");
        fflush(stdout);
        while (read(STDIN_FILENO, ignored, sizeof ignored) > 0)
                continue;
        return 0;
}
