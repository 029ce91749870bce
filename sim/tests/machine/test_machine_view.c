/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading a machine that may be another user's: no lock, no bound but our own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine_fixture.h"
#include "machine_view.h"
#include "unit.h"
#include "unit_memory.h"

static int view_open(const struct machine *machine, struct machine_view *ret_view)
{
        char path[64];

        snprintf(path, sizeof path, "/proc/self/fd/%d", machine->fd);
        return machine_view_open(path, ret_view, NULL);
}

TEST(a_view_has_the_living_and_what_they_hold)
{
        struct machine_slot slot;
        struct machine_view view;
        struct machine machine;
        struct tenant a;

        fixture_open(&machine, 10 * GRANULE, 1);
        fixture_attach(&machine, &a);
        CHECK_EQ(unit_charge(&machine, 0, a.slot, 3 * GRANULE), 0);
        /* Whoever holds the locks of the machine does not hold us up. */
        machine_lock(&machine.file->header.lock);
        machine_lock(&machine_unit(&machine, 0)->memory_lock);
        CHECK_EQ(view_open(&machine, &view), 0);
        CHECK_EQ(view.header->units[0].used_bytes, 3 * GRANULE);
        CHECK(machine_view_slot(&view, 0, &slot));
        CHECK_EQ(slot.units[0].device_bytes, 3 * GRANULE);
        CHECK_EQ(machine_view_users(&view), 1);
        view.header->boot_id[0] ^= 1; /* nobody lives from before a reboot */
        CHECK_EQ(machine_view_users(&view), 0);
        view.header->boot_id[0] ^= 1;
        machine_unlock(&machine_unit(&machine, 0)->memory_lock);
        machine_unlock(&machine.file->header.lock);
        fixture_kill(&a);
        CHECK(!machine_view_slot(&view, 0, &slot));
        CHECK_EQ(machine_view_users(&view), 0);
        CHECK(!machine_view_slot(&view, UINT32_MAX, &slot));
        machine_view_close(&view);
        machine_close(&machine);
}

TEST(what_is_written_into_the_file_is_bounded)
{
        struct machine_view view;
        struct machine machine;

        fixture_open(&machine, 10 * GRANULE, 1);
        struct machine_header *header = &machine.file->header;

        header->gpu_count = UINT32_MAX;
        header->time_scale = 0.0 / 0.0;
        atomic_store(&header->slots_high, UINT32_MAX);
        memset(header->gpus[0].name, 'x', sizeof header->gpus[0].name);
        strcpy(header->gpus[0].preset, "a\033[2J\n\xff");
        memset(header->driver_text, 'x', sizeof header->driver_text);
        memset(header->kernels[MACHINE_KERNELS - 1].name, 'x', sizeof header->kernels[0].name);
        memset(header->gpus[0].uuid, 'x', sizeof header->gpus[0].uuid);
        header->gpus[0].instances[0].is_used = 1;
        header->gpus[0].instances[0].unit = UINT32_MAX;
        for (unsigned i = 0; i < MACHINE_BUCKETS; i++)
                header->units[0].engines[ENGINE_COMPUTE].buckets[i].busy_ns = UINT64_MAX;
        CHECK_EQ(view_open(&machine, &view), 0);
        CHECK_EQ(view.header->gpu_count, MACHINE_GPUS);
        CHECK_EQ(atomic_load(&view.header->slots_high), MACHINE_SLOTS);
        CHECK_EQ(strlen(view.header->gpus[0].name), sizeof header->gpus[0].name - 1);
        CHECK_STR(view.header->gpus[0].preset, "a?[2J??");
        CHECK_EQ(strlen(view.header->driver_text), sizeof header->driver_text - 1);
        CHECK_EQ(strlen(view.header->kernels[MACHINE_KERNELS - 1].name),
                 sizeof header->kernels[0].name - 1);
        CHECK_EQ(view.header->gpus[0].instances[0].is_used, 0);
        CHECK_EQ(machine_view_users(&view), 0);
        CHECK(machine_view_load(&view, 0) >= 0 && machine_view_load(&view, 0) <= 1);
        machine_view_close(&view);
        CHECK_EQ(ftruncate(machine.fd, 4096), 0);
        CHECK_EQ(view_open(&machine, &view), -EPROTO);
        machine_close(&machine);
}

int main(void)
{
        return RUN(CASE(a_view_has_the_living_and_what_they_hold),
                   CASE(what_is_written_into_the_file_is_bounded));
}
