/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading a container's region, also one that was written by hand. */
#include "region_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "region.h"
#include "region_compute.h"
#include "unit.h"

enum { MIB = 1 << 20 };

struct stage {
        char folder[64], path[80];
        struct region region;
};

static void stage_open(struct stage *stage)
{
        struct err e = { 0 };

        strcpy(stage->folder, "/tmp/vgpu-region-XXXXXX");
        CHECK(mkdtemp(stage->folder));
        snprintf(stage->path, sizeof stage->path, "%s/region", stage->folder);
        CHECK_EQ(region_open(stage->path, 2, &stage->region, &e), 0);
        CHECK_EQ(region_join(&stage->region), 0);
}

static void stage_close(struct stage *stage)
{
        region_close(&stage->region);
        unlink(stage->path);
        rmdir(stage->folder);
}

TEST(what_is_charged_is_read)
{
        struct region_reader view;
        struct reader_device device;
        struct reader_process process;
        struct reader_use use;
        struct stage stage;
        struct err e;

        stage_open(&stage);
        CHECK_EQ(region_charge(&stage.region, 1, REGION_DEVICE, 5 * MIB, UINT64_MAX), 0);
        CHECK_EQ(region_charge(&stage.region, 1, REGION_CONTEXT, 2 * MIB, UINT64_MAX), 0);
        CHECK_EQ(region_charge(&stage.region, region_virtual(1), REGION_MANAGED, 3 * MIB,
                               UINT64_MAX),
                 0);
        stage.region.file->devices[1].refusals = 4;
        stage.region.file->computes[1].throttled_ns = 9;
        CHECK_EQ(region_reader_open(stage.path, &view, &e), 0);
        CHECK_EQ(region_reader_device(&view, 0, 0, &device), 0);
        CHECK_EQ(device.physical_bytes, 0);
        CHECK_EQ(region_reader_device(&view, 1, 0, &device), 0);
        CHECK_EQ(device.physical_bytes, 7 * MIB);
        CHECK_EQ(device.virtual_bytes, 3 * MIB);
        CHECK_EQ(device.refusals, 4);
        CHECK_EQ(device.throttled_ns, 9);
        CHECK_EQ(view.slots, 1);
        CHECK_EQ(region_reader_process(&view, 1, &process), 1);
        CHECK_EQ(process.pid, (uint32_t)getpid());
        CHECK_EQ(region_reader_use(&view, 1, 1, &use), 0);
        CHECK_EQ(use.physical_bytes, 7 * MIB);
        CHECK_EQ(use.virtual_bytes, 3 * MIB);
        CHECK_EQ(use.kinds[REGION_DEVICE], 5 * MIB);
        CHECK_EQ(use.kinds[REGION_CONTEXT], 2 * MIB);
        CHECK_EQ(use.kinds[REGION_OTHER], 0);
        region_reader_close(&view);
        stage_close(&stage);
}

TEST(a_process_that_the_node_knows_to_be_gone_is_not_reported)
{
        struct reader_process process;
        struct region_reader view;
        struct stage stage;
        struct err e;

        stage_open(&stage);
        stage.region.file->slots[1].host_pid = 0x7ffffffe; /* beyond what the kernel gives out */
        CHECK_EQ(region_reader_open(stage.path, &view, &e), 0);
        CHECK_EQ(region_reader_process(&view, 1, &process), 0);
        region_reader_close(&view);
        stage_close(&stage);
}

TEST(a_process_that_ended_is_told_of_for_two_seconds_or_until_it_is_found)
{
        const uint64_t now = clock_now_ns() + 10 * NS_PER_S;
        struct region_reader view;
        struct stage stage;
        struct err e;

        stage_open(&stage);
        CHECK_EQ(region_reader_open(stage.path, &view, &e), 0);
        CHECK(!region_reader_has_ended(&view, now));
        region_reader_close(&view);
        stage.region.file->ended_ns = now - NS_PER_S;
        CHECK_EQ(region_reader_open(stage.path, &view, &e), 0);
        CHECK(region_reader_has_ended(&view, now));
        CHECK(!region_reader_has_ended(&view, now + 2 * NS_PER_S));
        stage.region.file->slots[1].host_pid = 0x7ffffffe; /* nobody has found it yet */
        CHECK(region_reader_has_ended(&view, now + 2 * NS_PER_S));
        region_reader_close(&view);
        stage_close(&stage);
}

TEST(waits_for_the_limit_are_a_part_of_the_last_second)
{
        const uint64_t now = 1000 * NS_PER_S;
        struct reader_device device;
        struct region_reader view;
        struct stage stage;
        struct err e;

        stage_open(&stage);
        region_compute_throttle(&stage.region.file->computes[1], now - 500 * NS_PER_MS, now);
        CHECK_EQ(region_reader_open(stage.path, &view, &e), 0);
        CHECK_EQ(region_reader_device(&view, 1, now + 30 * NS_PER_MS, &device), 0);
        CHECK(device.throttled_ratio > 0.49 && device.throttled_ratio <= 0.5);
        CHECK(device.busy_ratio == 0);
        region_reader_close(&view);
        stage_close(&stage);
}

TEST(figures_that_cannot_be_are_read_as_what_can_be)
{
        struct region_reader view;
        struct reader_use use;
        struct stage stage;
        struct err e;

        stage_open(&stage);
        struct region_charges *own = &stage.region.file->slots[1].charges[0];
        atomic_store(&own->held, UINT64_MAX);
        for (unsigned kind = 0; kind < REGION_KINDS; kind++)
                atomic_store(&own->kinds[kind], UINT64_MAX - kind);
        CHECK_EQ(region_reader_open(stage.path, &view, &e), 0);
        CHECK_EQ(region_reader_use(&view, 1, 0, &use), 0);
        CHECK_EQ(use.physical_bytes, REGION_UNITS_MAX << REGION_UNIT_BITS);
        CHECK_EQ(use.kinds[REGION_DEVICE], use.physical_bytes);
        for (unsigned kind = REGION_DEVICE + 1; kind < REGION_KINDS; kind++)
                CHECK_EQ(use.kinds[kind], 0);
        region_reader_close(&view);
        atomic_store(&own->held, 0);
        stage_close(&stage);
}

TEST(nonsense_is_read_and_a_file_cut_short_is_an_error)
{
        struct reader_device device;
        struct reader_process process;
        struct region_reader view;
        struct reader_use use;
        struct stage stage;
        struct err e;

        stage_open(&stage);
        stage.region.file->slots_high = UINT32_MAX;
        memset(stage.region.file->slots[1].name, 'x', sizeof stage.region.file->slots[1].name);
        CHECK_EQ(region_reader_open(stage.path, &view, &e), 0);
        CHECK_EQ(view.slots, REGION_READER_SLOTS);
        CHECK_EQ(region_reader_process(&view, 1, &process), 1);
        CHECK_EQ(strlen(process.name), sizeof process.name - 1);
        CHECK_EQ(region_reader_device(&view, REGION_DEVICES, 0, &device), -EINVAL);
        CHECK_EQ(region_reader_use(&view, 1, REGION_DEVICES, &use), -EINVAL);
        CHECK_EQ(truncate(stage.path, 200), 0);
        CHECK_EQ(region_reader_device(&view, 1, 0, &device), -EIO);
        CHECK_EQ(region_reader_process(&view, 1, &process), -EIO);
        CHECK_EQ(region_reader_use(&view, 1, 1, &use), -EIO);
        region_reader_close(&view);
        CHECK_EQ(truncate(stage.path, 3), 0);
        CHECK_EQ(region_reader_open(stage.path, &view, &e), -EIO);
        unlink(stage.path);
        CHECK_EQ(region_reader_open(stage.path, &view, &e), -ENOENT);
        CHECK_EQ(region_reader_open("/dev/zero", &view, &e), -EPROTO);
        rmdir(stage.folder);
}

int main(void)
{
        return RUN(CASE(what_is_charged_is_read),
                   CASE(a_process_that_the_node_knows_to_be_gone_is_not_reported),
                   CASE(a_process_that_ended_is_told_of_for_two_seconds_or_until_it_is_found),
                   CASE(waits_for_the_limit_are_a_part_of_the_last_second),
                   CASE(figures_that_cannot_be_are_read_as_what_can_be),
                   CASE(nonsense_is_read_and_a_file_cut_short_is_an_error));
}
