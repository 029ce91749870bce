/* What the shares of this user use. */
#include "usage.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "node_shares.h"
#include "share_look.h"

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

static int usage_look(const char *path, void *user)
{
        struct vec *usages = user;
        struct usage usage = { 0 };
        struct share_look look;
        struct err e = { 0 };

        if (!share_look_open(path, &look, &e))
                return EXIT_FAILED;
        snprintf(usage.share, sizeof usage.share, "%s", look.copy->name);
        snprintf(usage.program, sizeof usage.program, "%.63s", look.copy->container);
        usage.processes = look.region ? processes_alive(look.region) : 0;
        for (unsigned i = 0; i < look.copy->device_count && i < SHARE_DEVICES; i++) {
                device_look(look.copy, i, look.region, &usage);
                vec_push(usages, &usage);
        }
        share_look_close(&look);
        return e.text[0] ? complain(EXIT_FAILED, "%s", e.text) : EXIT_OK;
}

int usage_take(struct vec *usages)
{
        const int code = share_look_each(usage_look, usages), of_node = node_shares_usage(usages);

        return of_node ? of_node : code;
}
