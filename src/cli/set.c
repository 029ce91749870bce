/* vgpu set: changes the limits of a share while it is in use. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arbiter_process.h"
#include "command.h"
#include "node_shares.h"
#include "quantity.h"
#include "scan.h"
#include "scope.h"
#include "share_compute.h"
#include "share_memory.h"
#include "share_option.h"
#include "share_place.h"

enum {
        MEMORY,
        MEMORY_RATIO,
        OVERSOLD,
        NO_OVERSOLD,
        OVERSOLD_HOST_MEMORY,
        CORES,
        CORES_MAX,
        PRIORITY,
        COPIES,
};

const struct cli_option set_options[] = {
        [MEMORY] = { "memory", "SIZE", "GPU memory it may hold on each GPU from now on", NULL },
        [MEMORY_RATIO] = { "memory-ratio", "R",
                           "only 1/R of it on the GPU, the rest on the host; 1: all on the GPU",
                           NULL },
        [OVERSOLD] = { "oversold", NULL, "beyond it, or when the GPU is full, go on on the host",
                       NULL },
        [NO_OVERSOLD] = { "no-oversold", NULL, "from now on refuse what is beyond it", NULL },
        [OVERSOLD_HOST_MEMORY] = { "oversold-host-memory", "SIZE",
                                   "this far and no further. Default: the GPU's size again", NULL },
        [CORES] = { "cores", "PERCENT", "part of each GPU's time it may use; 0: no limit", NULL },
        [CORES_MAX] = { "cores-max", "PERCENT",
                        "up to this where nobody else uses it; 0: nothing is borrowed", NULL },
        [PRIORITY] = { "priority", "high|low", "high: shorter waits for its turn", "high low" },
        [COPIES] = { "copies", "count|exempt", "do copies and fills count as GPU time, too?",
                     "count exempt" },
        { 0 },
};

struct set_request {
        struct share_memory memory;
        struct share_compute compute;
};

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
                card_text[QUANTITY_TEXT_BYTES], part_text[QUANTITY_TEXT_BYTES];

        quantity_format_bytes(limit, limit_text);
        quantity_format_bytes(held + host, held_text);
        quantity_format_bytes(held, card_text);
        quantity_format_bytes(device->physical_bytes, part_text);
        printf("%s: GPU %u holds %s of %s", copy->name, gpu, held_text, limit_text);
        if (is_virtual)
                printf(", of these on the GPU %s of %s", card_text, part_text);
        if (held + host > limit)
                puts("; nothing is taken away, new memory is refused until it fits");
        else
                puts(held > device->physical_bytes
                             ? "; nothing is moved, new memory goes to the host until it fits"
                             : "");
}

/* What the share holds now, device by device, and what that means under the new limit. */
static void held_print(const struct share_copy *copy)
{
        struct region region = { 0 };
        struct err e = { 0 };
        const bool is_open = share_place_region(copy, &region, &e) == 0;

        for (unsigned i = 0; i < copy->device_count; i++) {
                const uint64_t held = is_open ? region_used_bytes(&region, i) : 0;
                const uint64_t host = is_open ? region_used_bytes(&region, region_virtual(i)) : 0;

                device_print(copy, i, held, host);
        }
        region_close(&region);
}

static int limits_set(const char *path, const struct set_request *request, struct err *e)
{
        struct share_copy copy;
        struct share share;
        autoclose int lock = -1;
        int r = share_place_open(path, &share, &lock, e);

        if (r < 0)
                return r;
        memcpy(&copy, share_current(&share), sizeof copy);
        for (unsigned i = 0; i < copy.device_count && r == 0; i++) {
                share_memory_put(&request->memory, &copy.devices[i]);
                r = share_compute_put(&request->compute, &copy.devices[i], e);
        }
        if (r == 0)
                r = share_update(&share, &copy, e);
        if (r == 0)
                arbiter_process_ring(
                        path); /* others may have turns to take now, or none any more */
        if (r == 0 && share_memory_is_said(&request->memory))
                held_print(&copy);
        if (r == 0 && share_compute_is_said(&request->compute))
                compute_print(&copy);
        share_close(&share);
        return r;
}

static int set_option(struct set_request *request, int option, const char *value, struct err *e)
{
        struct share_memory *memory = &request->memory;

        switch (option) {
        case CORES:
                return share_compute_cores(value, &request->compute, e);
        case CORES_MAX:
                return share_compute_most(value, &request->compute, e);
        case PRIORITY:
                return share_compute_priority(value, &request->compute, e);
        case COPIES:
                return share_compute_copies(value, &request->compute, e);
        case MEMORY_RATIO:
                return share_memory_ratio(value, memory, e);
        case OVERSOLD:
        case NO_OVERSOLD:
                memory->is_oversold = option == OVERSOLD ? SHARE_YES : SHARE_NO;
                return 0;
        case OVERSOLD_HOST_MEMORY:
                memory->is_oversold = SHARE_YES;
                return share_memory_host(value, memory, e);
        default:
                return share_memory_size(value, memory, e);
        }
}

int command_set(const struct command *command, int argc, char **argv)
{
        const char *name = NULL;
        char path[SHARE_TEXT];
        struct set_request request = { 0 };
        struct err e = { 0 };
        struct scan scan;
        int option;

        scan_init(&scan, command, argc, argv);
        while ((option = scan_next(&scan)) != SCAN_END) {
                if (option == SCAN_BAD || option == SCAN_HELP)
                        return scan_exit(&scan, option);
                if (option == SCAN_WORD && name)
                        return complain(EXIT_USAGE, "one share at a time: '%s' or '%s'?", name,
                                        scan.value);
                if (option == SCAN_WORD)
                        name = scan.value;
                else if (set_option(&request, option, scan.value, &e) < 0)
                        return complain(EXIT_USAGE, "%s", e.text);
        }
        if (!name)
                return complain(EXIT_USAGE, "which share? vgpu set NAME --memory SIZE");
        if (!share_memory_is_said(&request.memory) && !share_compute_is_said(&request.compute))
                return complain(EXIT_USAGE,
                                "set what? vgpu set %.63s --memory SIZE, or --cores PERCENT", name);
        if (!share_place_find(name, path)) {
                const int code = node_shares_set(name, &request.memory, &request.compute);

                return code < 0 ? complain_unknown_share(name) : code;
        }
        if (limits_set(path, &request, &e) < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        return EXIT_OK;
}
