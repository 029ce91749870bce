/* SPDX-License-Identifier: Apache-2.0 */
/* Limits put into a share, and what that means for what it holds. */
#include "set_limits.h"

#include <stdio.h>

#include "quantity.h"
#include "share_option.h"
#include "snapshot_share.h"
#include "str.h"

static void memory_print(const char *name, size_t index, const struct share_gpu *gpu)
{
        const uint64_t held = gpu->physical_bytes + gpu->virtual_bytes;
        const bool is_limited = gpu->virtual_limit_bytes != SHARE_UNLIMITED;
        const uint64_t limit =
                is_limited ? gpu->physical_limit_bytes + gpu->virtual_limit_bytes : SHARE_UNLIMITED;
        char limit_text[QUANTITY_TEXT_BYTES] = "all there is", held_text[QUANTITY_TEXT_BYTES],
             gpu_text[QUANTITY_TEXT_BYTES], part_text[QUANTITY_TEXT_BYTES];

        if (is_limited)
                quantity_format_bytes(limit, limit_text);
        quantity_format_bytes(held, held_text);
        quantity_format_bytes(gpu->physical_bytes, gpu_text);
        quantity_format_bytes(gpu->physical_limit_bytes, part_text);
        printf("%s: GPU %zu holds %s of %s", name, index, held_text, limit_text);
        if (gpu->physical_limit_bytes < gpu->limit_bytes || gpu->is_oversold || gpu->virtual_bytes)
                printf(", of these on the GPU %s of %s", gpu_text, part_text);
        if (held > limit)
                puts("; nothing is taken away, new memory is refused until it fits");
        else
                puts(gpu->physical_bytes > gpu->physical_limit_bytes
                             ? "; nothing is moved, new memory goes to the host until it fits"
                             : "");
}

static void compute_print(const char *name, size_t index, const struct share_gpu *gpu)
{
        char text[SHARE_COMPUTE_TEXT];

        share_compute_text(gpu->cores_percent, gpu->cores_max_percent, text);
        printf("%s: GPU %zu time: %s%s%s\n", name, index, text,
               gpu->is_latency ? ", high priority" : "", gpu->copies_count ? ", copies count" : "");
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

/* Warns once of a limit that is more than a GPU has. */
static void excess_warn(const struct vec *gpus)
{
        bool is_warned = false;

        for (size_t i = 0; i < gpus->count && !is_warned; i++) {
                const struct share_gpu *gpu = vec_at(gpus, i);
                const struct share_device device = { .limit_bytes = gpu->limit_bytes,
                                                     .physical_bytes = gpu->physical_limit_bytes,
                                                     .device_bytes = gpu->total_bytes };

                is_warned = complain_excess(&device, (unsigned)i);
        }
}

void set_limits_print(const struct set_request *request, const struct share_view *share)
{
        if (request->memory.bytes)
                excess_warn(&share->gpus);
        for (size_t i = 0; share_memory_is_said(&request->memory) && i < share->gpus.count; i++)
                memory_print(share->name, i, vec_at(&share->gpus, i));
        for (size_t i = 0; share_compute_is_said(&request->compute) && i < share->gpus.count; i++)
                compute_print(share->name, i, vec_at(&share->gpus, i));
}

void set_limits_show(const struct set_request *request, const struct share_copy *copy,
                     const struct region *region)
{
        struct share_view share = { .gpus = VEC_OF(struct share_gpu) };

        str_copy(share.name, sizeof share.name, copy->name);
        share_gpus_read(copy, region, true, &share.gpus);
        set_limits_print(request, &share);
        vec_done(&share.gpus);
}
