/* SPDX-License-Identifier: Apache-2.0 */
/* share_tool PATH MACHINE MIB REGION [POD_UID CONTAINER GPU]: makes a share of the machine's first GPU, or
 * of another, as a node would.
 * share_tool --gpu MACHINE: prints what that GPU itself says is used, in bytes. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "share.h"
#include "slot.h"
#include "unit_memory.h"

static int gpu_used_print(struct machine *machine)
{
        struct unit_memory memory;

        slot_reap(machine);
        unit_memory(machine, 0, &memory);
        printf("%" PRIu64 "\n", memory.used_bytes);
        return 0;
}

static int make(int count, char **words, const struct machine *machine, struct err *e)
{
        const bool is_named = count > 7;
        struct share_copy copy = { .device_count = 1, .name = "tenant" };
        struct share_device *device = &copy.devices[0];
        const unsigned gpu = is_named ? (unsigned)atoi(words[7]) : 0;

        memcpy(device->uuid, machine_gpu(machine, gpu)->uuid, sizeof device->uuid);
        device->limit_bytes = device->physical_bytes = strtoull(words[3], NULL, 10) << 20;
        snprintf(copy.pod_uid, sizeof copy.pod_uid, "%s",
                 is_named ? words[5] : "11111111-2222-3333-4444-555555555555");
        snprintf(copy.container, sizeof copy.container, "%s", is_named ? words[6] : "box");
        snprintf(copy.region, sizeof copy.region, "%s", words[4]);
        return share_create(words[1], &copy, e);
}

int main(int argc, char **argv)
{
        struct machine machine;
        struct err e = { 0 };

        if ((argc != 3 && argc != 5 && argc != 8) || machine_open(argv[2], &machine, &e) < 0) {
                fprintf(stderr, "share_tool: %s\n", e.text);
                return 2;
        }
        if (argc == 3)
                return gpu_used_print(&machine);
        if (make(argc, argv, &machine, &e) < 0) {
                fprintf(stderr, "share_tool: %s\n", e.text);
                return 1;
        }
        return 0;
}
