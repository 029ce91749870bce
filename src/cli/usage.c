/* What the shares of this user use. */
#include "usage.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "share_place.h"

static unsigned processes_alive(const struct region *region)
{
        const uint32_t high = atomic_load(&region->file->slots_high);
        unsigned count = 0;

        for (uint32_t i = 1; i <= high && i <= REGION_SLOTS; i++)
                count += region_slot_is_alive(region, i);
        return count;
}

static void device_look(const struct share_copy *copy, unsigned device, const struct region *region,
                        struct usage *usage)
{
        const struct share_device *share = &copy->devices[device];

        usage->gpu = device;
        memcpy(usage->uuid, share->uuid, sizeof usage->uuid);
        usage->limit_bytes = atomic_load(&share->limit_bytes);
        usage->card_bytes = share->card_bytes;
        usage->cores_percent = share->cores_percent;
        usage->cores_max_percent = share->cores_max_percent;
        usage->card_bytes = share->card_bytes;
        if (!region)
                return;
        usage->held_bytes = region_used_bytes(region, device);
        usage->host_bytes = region_used_bytes(region, region_virtual(device));
        const struct region_compute *compute = &region->file->computes[device];

        usage->busy_ns = atomic_load(&compute->gpu_ns);
        usage->throttled_ns = atomic_load(&compute->throttled_ns);
}

static int share_look(const char *path, struct vec *usages)
{
        struct region region = { 0 };
        struct usage usage = { 0 };
        struct share share = { 0 };
        struct err e = { 0 };

        if (share_open(path, false, &share, &e) < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        const struct share_copy *copy = share_current(&share);
        const bool is_open = share_place_region(copy, &region, &e) == 0;

        /* Reaping needs a place in the account; ours is no process of the share. */
        if (is_open && region_join(&region) == 0) {
                region_reap(&region);
                region_leave(&region);
        }
        snprintf(usage.share, sizeof usage.share, "%s", copy->name);
        snprintf(usage.program, sizeof usage.program, "%.63s", copy->container);
        usage.processes = is_open ? processes_alive(&region) : 0;
        for (unsigned i = 0; i < copy->device_count && i < SHARE_DEVICES; i++) {
                device_look(copy, i, is_open ? &region : NULL, &usage);
                vec_push(usages, &usage);
        }
        region_close(&region);
        share_close(&share);
        return e.text[0] ? complain(EXIT_FAILED, "%s", e.text) : EXIT_OK;
}

int usage_take(struct vec *usages)
{
        struct vec paths = VEC_OF(char[SHARE_TEXT]);
        int code = EXIT_OK;

        share_place_list(&paths);
        for (size_t i = 0; i < paths.count; i++) {
                const int r = share_look(vec_at(&paths, i), usages);

                code = r ? r : code;
        }
        vec_done(&paths);
        return code;
}
