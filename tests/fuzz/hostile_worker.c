/* SPDX-License-Identifier: Apache-2.0 */
/* The honest: vgpu-node and commands, which read what a tenant may rewrite at any time, and processes of the
 * tenant's own container, which share its region. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arbiter.h"
#include "arbiter_lock.h"
#include "clock.h"
#include "guard.h"
#include "hostile.h"
#include "machine_view.h"
#include "region.h"
#include "region_check.h"
#include "region_reader.h"
#include "region_view.h"
#include "run_folders.h"
#include "share.h"

#define MIB        (UINT64_C(1) << 20)
#define BYTES_MOST (REGION_UNITS_MAX << REGION_UNIT_BITS)

static void must(bool is_in_bounds, const char *what)
{
        if (is_in_bounds)
                return;
        fprintf(stderr, "hostile: out of bounds: %s\n", what);
        abort();
}

#define BOUND(condition) must(condition, #condition)

static void reader_slots(const struct region_reader *view)
{
        struct reader_process process;
        struct reader_use use;

        BOUND(view->slots <= REGION_READER_SLOTS);
        for (uint32_t slot = 1; slot <= view->slots && slot < 6; slot++) {
                if (region_reader_process(view, slot, &process) == 1)
                        BOUND(memchr(process.name, '\0', sizeof process.name));
                if (region_reader_use(view, slot, 0, &use) == 0)
                        BOUND(use.physical_bytes <= BYTES_MOST && use.virtual_bytes <= BYTES_MOST &&
                              use.kinds[REGION_DEVICE] <= use.physical_bytes);
        }
}

/* vgpu-node's figures. */
static bool read_region(const struct hostile_hall *hall, unsigned *seed)
{
        struct region_reader view;
        struct reader_device device;
        struct err e = { 0 };

        (void)seed;
        if (region_reader_open(hall->paths[FILE_REGION], &view, &e) < 0) {
                BOUND(*e.text);
                return false;
        }
        for (unsigned i = 0; i < HOSTILE_DEVICES; i++)
                if (region_reader_device(&view, i, clock_now_ns(), &device) == 0)
                        BOUND(device.physical_bytes <= BYTES_MOST &&
                              device.virtual_bytes <= BYTES_MOST && device.busy_ratio >= 0 &&
                              device.busy_ratio <= 1.01);
        reader_slots(&view);
        region_reader_close(&view);
        return true;
}

/* What `vgpu ps` and the audit do. */
static bool view_region(const struct hostile_hall *hall, unsigned *seed)
{
        struct region region;
        struct err e = { 0 };

        (void)seed;
        guard_open_begin();
        const int r = region_view_open(hall->paths[FILE_REGION], &region, &e);
        guard_open_end();
        if (r < 0) {
                BOUND(*e.text);
                return false;
        }
        BOUND(region.device_count <= REGION_DEVICES);
        BOUND(region_slots_high(&region) <= REGION_SLOTS);
        for (unsigned i = 0; i < region.device_count; i++) {
                BOUND(region_used_bytes(&region, i) <= BYTES_MOST);
                region_dead_bytes(&region, i);
        }
        BOUND(region_check_all(&region, clock_now_ns() + REGION_CHECK_MS * NS_PER_MS) <=
              REGION_UNEVEN);
        region_view_close(&region);
        return true;
}

static void copy_check(const struct share_copy *copy)
{
        BOUND(copy->device_count <= SHARE_DEVICES);
        BOUND(memchr(copy->name, '\0', sizeof copy->name));
        BOUND(memchr(copy->region, '\0', sizeof copy->region));
        for (unsigned i = 0; i < copy->device_count; i++) {
                BOUND(memchr(copy->devices[i].uuid, '\0', SHARE_UUID));
                BOUND(copy->devices[i].physical_bytes <= copy->devices[i].limit_bytes);
        }
}

static bool read_share(const struct hostile_hall *hall, unsigned *seed)
{
        struct share share;
        struct share_copy copy;
        struct err e = { 0 };
        bool is_read = false;

        (void)seed;
        guard_open_begin();
        if (share_open(hall->paths[FILE_SHARE], false, &share, &e) == 0) {
                is_read = share_read(&share, &copy, &e) == 0;
                if (is_read)
                        copy_check(&copy);
                share_close(&share);
        }
        guard_open_end();
        BOUND(is_read || *e.text);
        return is_read;
}

/* An arbiter takes the tenant in, looks at it for a while, and lets it go. */
static bool arbitrate(const struct hostile_hall *hall, unsigned *seed)
{
        const _Atomic uint32_t members = 0;
        struct arbiter *arbiter = arbiter_new(&members);
        struct err e = { 0 };
        bool is_taken;

        BOUND(arbiter);
        is_taken = arbiter_add(arbiter, hall->paths[FILE_SHARE], &e) == 0;
        BOUND(is_taken || *e.text);
        for (unsigned i = 0; i < 50 && is_taken; i++) {
                const uint64_t until_ns = arbiter_step(arbiter), now_ns = clock_now_ns();
                BOUND(until_ns > now_ns || now_ns - until_ns < NS_PER_S);
                arbiter_wait(arbiter, until_ns < now_ns + NS_PER_MS ? until_ns : now_ns + NS_PER_MS,
                             0);
                if (rand_r(seed) % 16 == 0)
                        arbiter_trim(arbiter);
        }
        if (rand_r(seed) % 2)
                arbiter_remove(arbiter, hall->paths[FILE_SHARE]);
        arbiter_free(arbiter);
        return is_taken;
}

static void on_user_share(void *owner, const struct user_share *share)
{
        bool *is_read = owner;
        struct share_copy copy;
        struct arbiter_lock lock;
        struct err e = { 0 };

        if (user_share_read(share, &copy, &e) == 0) {
                copy_check(&copy);
                BOUND(strcmp(copy.name, share->name) == 0);
                copy.devices[0].cores_percent = 1 + copy.devices[0].cores_percent % 90;
                user_share_change(share, &copy, NULL);
                *is_read = true;
        } else {
                BOUND(*e.text);
        }
        user_share_is_used(share);
        if (arbiter_lock_open_of(share->root, share->user, &lock) == 0) {
                arbiter_lock_is_claimed(&lock);
                arbiter_lock_ring(&lock);
                arbiter_lock_close(&lock);
        }
}

/* Root looks at the programs that users run, and changes their limits. */
static bool read_user(const struct hostile_hall *hall, unsigned *seed)
{
        bool is_read = false;

        (void)seed;
        setenv(RUN_FOLDERS_VARIABLE, hall->folder, 1);
        user_shares_each(on_user_share, &is_read);
        return is_read;
}

static bool view_machine(const struct hostile_hall *hall, unsigned *seed)
{
        struct machine_view view;
        struct machine_slot slot;
        struct err e = { 0 };

        (void)seed;
        if (machine_view_open(hall->paths[FILE_MACHINE], &view, &e) < 0) {
                BOUND(*e.text);
                return false;
        }
        BOUND(view.header->gpu_count <= MACHINE_GPUS);
        for (unsigned i = 0; i < view.header->gpu_count; i++)
                BOUND(memchr(view.header->gpus[i].name, '\0', sizeof view.header->gpus[i].name));
        for (unsigned i = 0; i < HOSTILE_DEVICES; i++)
                BOUND(machine_view_load(&view, i * MACHINE_UNITS_PER_GPU) >= 0);
        for (uint32_t i = 0; i < 4; i++)
                if (machine_view_slot(&view, i, &slot))
                        BOUND(memchr(slot.path, '\0', sizeof slot.path));
        machine_view_channel_load(&view, (uint32_t)rand_r(seed));
        machine_view_close(&view);
        return true;
}

/* Another program of the container. */
static bool charge(const struct hostile_hall *hall, unsigned *seed)
{
        struct region region;
        struct err e = { 0 };

        if (region_open(hall->paths[FILE_REGION], HOSTILE_DEVICES, &region, &e) < 0) {
                BOUND(*e.text);
                return false;
        }
        const bool has_joined = region_join(&region) == 0;
        for (unsigned i = 0; i < 20 && has_joined; i++) {
                const unsigned device = (unsigned)rand_r(seed) % HOSTILE_DEVICES;
                if (region_charge(&region, device, REGION_DEVICE, 3 * MIB, 64 * MIB) == 0)
                        region_refund(&region, device, REGION_DEVICE, 3 * MIB);
                BOUND(region_used_bytes(&region, device) <= BYTES_MOST);
                region_check_own(&region);
        }
        if (has_joined)
                region_reap(&region);
        region_close(&region);
        return has_joined;
}

const struct hostile_worker hostile_workers[] = {
        { "the agent reads the region", read_region, false },
        { "a command looks at the region", view_region, false },
        { "the share is read", read_share, false },
        { "the arbiter takes the tenant in", arbitrate, false },
        { "root changes a user's share", read_user, false },
        { "a command looks at the machine", view_machine, false },
        { "programs of the container charge", charge, true },
};
const unsigned hostile_worker_count = sizeof hostile_workers / sizeof *hostile_workers;
