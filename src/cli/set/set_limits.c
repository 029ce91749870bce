/* SPDX-License-Identifier: Apache-2.0 */
/* Limits put into a share, and what that means for what it holds. */
#include "set_limits.h"

#include <stdio.h>

#include "quantity.h"

static void compute_print(const struct share_copy *copy)
{
        char text[SHARE_COMPUTE_TEXT];

        for (unsigned i = 0; i < copy->device_count; i++) {
                share_compute_text(&copy->devices[i], text);
                printf("%s: GPU %u time: %s%s%s\n", copy->name, i, text,
                       copy->devices[i].flags & SHARE_LATENCY ? ", high priority" : "",
                       copy->devices[i].flags & SHARE_COPIES_COUNT ? ", copies count" : "");
        }
}

static void device_print(const struct share_copy *copy, unsigned gpu, uint64_t held, uint64_t host)
{
        const struct share_device *device = &copy->devices[gpu];
        const bool is_virtual = device->physical_bytes < device->limit_bytes ||
                                device->flags & SHARE_OVERSOLD || host;
        const uint64_t limit = share_memory_whole(device);
        char limit_text[QUANTITY_TEXT_BYTES], held_text[QUANTITY_TEXT_BYTES],
                gpu_text[QUANTITY_TEXT_BYTES], part_text[QUANTITY_TEXT_BYTES];

        quantity_format_bytes(limit, limit_text);
        quantity_format_bytes(held + host, held_text);
        quantity_format_bytes(held, gpu_text);
        quantity_format_bytes(device->physical_bytes, part_text);
        printf("%s: GPU %u holds %s of %s", copy->name, gpu, held_text, limit_text);
        if (is_virtual)
                printf(", of these on the GPU %s of %s", gpu_text, part_text);
        if (held + host > limit)
                puts("; nothing is taken away, new memory is refused until it fits");
        else
                puts(held > device->physical_bytes
                             ? "; nothing is moved, new memory goes to the host until it fits"
                             : "");
}

/* What the share holds now, device by device, and what that means under the new limit. */
static void held_print(const struct share_copy *copy, const struct region *region)
{
        for (unsigned i = 0; i < copy->device_count; i++) {
                const uint64_t held = region ? region_used_bytes(region, i) : 0;
                const uint64_t host = region ? region_used_bytes(region, region_virtual(i)) : 0;

                device_print(copy, i, held, host);
        }
}

int set_limits_put(const struct set_request *request, struct share_copy *copy, struct err *e)
{
        int r = 0;

        for (unsigned i = 0; i < copy->device_count && r == 0; i++) {
                share_memory_put(&request->memory, &copy->devices[i]);
                r = share_compute_put(&request->compute, &copy->devices[i], e);
        }
        return r;
}

void set_limits_print(const struct set_request *request, const struct share_copy *copy,
                      const struct region *region)
{
        if (share_memory_is_said(&request->memory))
                held_print(copy, region);
        if (share_compute_is_said(&request->compute))
                compute_print(copy);
}
