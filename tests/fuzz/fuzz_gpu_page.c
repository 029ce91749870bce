/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what tenants write into their pages, as the arbiter reads it. It takes the tenant in or refuses
 * it with a sentence; whatever the pages say between two steps, it looks again within a bounded time.
 *
 * The bytes: four for each change of a word of a valid tenant's pages; some of them are a step of the
 * arbiter's, or a file that is cut short. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arbiter.h"
#include "clock.h"
#include "fuzz.h"
#include "gpu_page.h"
#include "share.h"

enum { DEVICES = 2, CHANGE_BYTES = 4, STEPS_MOST = 32, PAGES = 1 + DEVICES };

static struct {
        char folder[64], share[96], grant[96], want[96];
        struct gpu_grant_file *grants;
        struct gpu_want_file *wants;
        char valid_grants[PAGES * GPU_PAGE_BYTES], valid_wants[PAGES * GPU_PAGE_BYTES];
} tenant;

static void tenant_remove(void)
{
        unlink(tenant.share);
        unlink(tenant.grant);
        unlink(tenant.want);
        rmdir(tenant.folder);
}

static void tenant_make(void)
{
        struct share_copy copy = { .device_count = DEVICES, .name = "fuzz" };
        const struct gpu_device devices[DEVICES] = { { .memory_bytes = UINT64_C(1) << 34 } };
        struct err e = { 0 };

        snprintf(tenant.folder, sizeof tenant.folder, "/dev/shm/vgpu-fuzz-page-XXXXXX");
        if (!mkdtemp(tenant.folder))
                abort();
        snprintf(tenant.share, sizeof tenant.share, "%s/share", tenant.folder);
        snprintf(tenant.grant, sizeof tenant.grant, "%s/grant", tenant.folder);
        snprintf(tenant.want, sizeof tenant.want, "%s/want", tenant.folder);
        snprintf(copy.region, sizeof copy.region, "%s/region", tenant.folder);
        for (unsigned i = 0; i < DEVICES; i++) {
                snprintf(copy.devices[i].uuid, SHARE_UUID, "GPU-%u", i);
                copy.devices[i].limit_bytes = copy.devices[i].physical_bytes = UINT64_C(1) << 30;
                copy.devices[i].cores_percent = 60;
        }
        if (gpu_page_create(tenant.grant, tenant.want, "here", devices, DEVICES, &e) < 0 ||
            share_create(tenant.share, &copy, &e) < 0 ||
            gpu_grant_map(tenant.grant, PROT_READ | PROT_WRITE, &tenant.grants, &e) < 0 ||
            gpu_want_map(tenant.want, &tenant.wants, &e) < 0)
                abort();
        memcpy(tenant.valid_grants, tenant.grants, sizeof tenant.valid_grants);
        memcpy(tenant.valid_wants, tenant.wants, sizeof tenant.valid_wants);
        atexit(tenant_remove);
}

/* The file as it was made, of its whole length. */
static void tenant_reset(void)
{
        if (truncate(tenant.want, sizeof(struct gpu_want_file)) < 0 ||
            truncate(tenant.grant, sizeof(struct gpu_grant_file)) < 0)
                abort();
        memcpy((void *)tenant.grants, tenant.valid_grants, sizeof tenant.valid_grants);
        memcpy((void *)tenant.wants, tenant.valid_wants, sizeof tenant.valid_wants);
}

/* Values that mean something, so that few bytes say much. */
static uint64_t value_of(unsigned kind, uint8_t a, uint8_t b)
{
        switch (kind % 8) {
        case 0:
                return a;
        case 1:
                return UINT64_MAX - a;
        case 2: /* a time: soon, or long ago */
                return clock_now_ns() + ((uint64_t)a << b % 40);
        case 3:
                return clock_now_ns() - ((uint64_t)a << b % 40);
        case 4: /* {number, state} */
                return (uint64_t)a << GPU_STATE_BITS | b % 4;
        case 5:
                return (uint64_t)getpid();
        case 6: /* bytes */
                return (uint64_t)a << 20;
        default:
                return (uint64_t)a << 56 | (uint64_t)b << 24 | a;
        }
}

/* 2 bits of the file and width, 10 of the word in its first pages, 4 of the kind. */
static void change(const uint8_t *bytes)
{
        const unsigned where = bytes[0] | (bytes[1] & 0xf) << 8;
        char *file = bytes[0] & 1 ? (char *)tenant.wants : (char *)tenant.grants;
        const size_t offset = (size_t)(where >> 2) * 8 % (PAGES * GPU_PAGE_BYTES);
        const uint64_t value = value_of(bytes[1] >> 4, bytes[2], bytes[3]);

        memcpy(file + offset, &value, bytes[0] & 2 ? 4 : 8);
}

static void step(struct arbiter *arbiter)
{
        const uint64_t until_ns = arbiter_step(arbiter);

        if (until_ns < clock_now_ns() && until_ns + 60 * NS_PER_S < clock_now_ns())
                abort();
}

static void changes_try(struct arbiter *arbiter, const uint8_t *bytes, size_t count)
{
        unsigned steps = 0;

        for (; count >= CHANGE_BYTES; bytes += CHANGE_BYTES, count -= CHANGE_BYTES) {
                if (bytes[0] == 0xff && steps < STEPS_MOST) {
                        step(arbiter);
                        steps++;
                } else if (bytes[0] == 0xfd) { /* cut short, or made longer; under guard */
                        if (truncate(bytes[1] & 1 ? tenant.want : tenant.grant,
                                     (off_t)bytes[2] * 2048) < 0)
                                abort();
                        step(arbiter);
                        tenant_reset();
                } else {
                        change(bytes);
                }
        }
        step(arbiter);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        const _Atomic uint32_t members = 0;
        struct err e = { 0 };

        if (!*tenant.folder)
                tenant_make();
        tenant_reset();
        struct arbiter *arbiter = arbiter_new(&members);
        if (!arbiter)
                abort();
        /* Half of them are changed before they are taken in. */
        if (count >= CHANGE_BYTES && bytes[0] % 2)
                change(bytes);
        if (arbiter_add(arbiter, tenant.share, &e) == 0)
                changes_try(arbiter, bytes, count);
        else if (!e.text[0])
                abort();
        arbiter_free(arbiter);
}
