/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a share as options ask for it. */
#include "share_memory.h"

#include <errno.h>
#include <stdio.h>

#include "quantity.h"

enum { RATIO_MOST = 1024 };

static int size_read(const char *text, const char *option, uint64_t *ret_bytes, struct err *e)
{
        uint64_t bytes;
        const int r = quantity_parse_bytes(text, &bytes, e);

        if (r < 0)
                return err_context(e, r, option);
        if (bytes == 0)
                return err_set(e, -EINVAL, "%s must be more than 0", option);
        *ret_bytes = bytes;
        return 0;
}

int share_memory_size(const char *text, struct share_memory *memory, struct err *e)
{
        return size_read(text, "--memory", &memory->bytes, e);
}

int share_memory_ratio(const char *text, struct share_memory *memory, struct err *e)
{
        return quantity_parse_number(text, "--memory-ratio", 1, RATIO_MOST, &memory->ratio, e);
}

int share_memory_host(const char *text, struct share_memory *memory, struct err *e)
{
        return size_read(text, "--oversold-host-memory", &memory->host_bytes, e);
}

bool share_memory_is_said(const struct share_memory *memory)
{
        return memory->bytes || memory->ratio > 0 || memory->host_bytes ||
               memory->is_oversold != SHARE_UNSET;
}

double share_memory_ratio_of(const struct share_device *device)
{
        const uint64_t limit = device->limit_bytes, physical = device->physical_bytes;

        return physical && physical < limit ? (double)limit / (double)physical : 1;
}

static void oversold_put(const struct share_memory *memory, struct share_device *device)
{
        if (memory->is_oversold == SHARE_YES)
                device->flags |= SHARE_OVERSOLD;
        if (memory->is_oversold == SHARE_NO)
                device->flags &= ~(uint32_t)SHARE_OVERSOLD;
        if (memory->host_bytes)
                device->host_bytes = memory->host_bytes;
        if (!device->host_bytes && device->flags & SHARE_OVERSOLD)
                device->host_bytes = device->device_bytes;
        if (!(device->flags & SHARE_OVERSOLD))
                device->host_bytes = 0;
}

void share_memory_put(const struct share_memory *memory, struct share_device *device)
{
        const double ratio = memory->ratio > 0 ? memory->ratio : share_memory_ratio_of(device);
        uint64_t limit = memory->bytes ? memory->bytes : device->limit_bytes;

        oversold_put(memory, device);
        const bool is_virtual = ratio > 1 || device->flags & SHARE_OVERSOLD;
        if (limit == SHARE_UNLIMITED && is_virtual && device->device_bytes)
                limit = (uint64_t)((double)device->device_bytes * ratio);
        device->limit_bytes = limit;
        device->physical_bytes =
                limit == SHARE_UNLIMITED ? limit : (uint64_t)((double)limit / ratio);
}

uint64_t share_memory_whole(const struct share_device *device)
{
        const uint64_t limit = device->limit_bytes;

        if (limit == SHARE_UNLIMITED || !(device->flags & SHARE_OVERSOLD))
                return limit;
        return limit + device->host_bytes;
}

bool share_memory_excess(const struct share_device *device, unsigned gpu,
                         char ret_text[static SHARE_EXCESS_TEXT])
{
        char limit[QUANTITY_TEXT_BYTES], size[QUANTITY_TEXT_BYTES];

        if (!device->device_bytes || device->limit_bytes == SHARE_UNLIMITED ||
            device->physical_bytes <= device->device_bytes)
                return false;
        quantity_format_bytes(device->limit_bytes, limit);
        quantity_format_bytes(device->device_bytes, size);
        snprintf(ret_text, SHARE_EXCESS_TEXT, "%s is more than GPU %u has, %s: it limits nothing",
                 limit, gpu, size);
        return true;
}
