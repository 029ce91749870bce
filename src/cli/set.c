/* vgpu set: changes the limits of a share while it is in use. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "quantity.h"
#include "scan.h"
#include "scope.h"
#include "share_option.h"
#include "share_place.h"

enum { MEMORY };

const struct cli_option set_options[] = {
        [MEMORY] = { "memory", "SIZE", "GPU memory it may hold on each GPU from now on", NULL },
        { 0 },
};

/* What the share holds now, device by device, and what that means under the new limit. */
static void held_print(const struct share_copy *copy)
{
        struct region region = { 0 };
        struct err e = { 0 };
        const bool is_open = share_place_region(copy, &region, &e) == 0;

        for (unsigned i = 0; i < copy->device_count; i++) {
                const uint64_t limit = copy->devices[i].limit_bytes;
                const uint64_t held = is_open ? region_used_bytes(&region, i) : 0;
                char limit_text[QUANTITY_TEXT_BYTES], held_text[QUANTITY_TEXT_BYTES];

                quantity_format_bytes(limit, limit_text);
                quantity_format_bytes(held, held_text);
                printf("%s: GPU %u holds %s of %s%s\n", copy->name, i, held_text, limit_text,
                       held > limit ? "; nothing is taken away, new memory is refused until it fits"
                                    : "");
        }
        region_close(&region);
}

static int memory_set(const char *path, uint64_t bytes, struct err *e)
{
        struct share_copy copy;
        struct share share;
        autoclose int lock = -1;
        int r = share_place_open(path, &share, &lock, e);

        if (r < 0)
                return r;
        memcpy(&copy, share_current(&share), sizeof copy);
        for (unsigned i = 0; i < copy.device_count; i++) {
                copy.devices[i].limit_bytes = bytes;
                copy.devices[i].physical_bytes = bytes;
        }
        r = share_update(&share, &copy, e);
        if (r == 0)
                held_print(&copy);
        share_close(&share);
        return r;
}

int command_set(const struct command *command, int argc, char **argv)
{
        const char *name = NULL;
        char path[SHARE_TEXT];
        uint64_t bytes = 0;
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
                else if (memory_option(scan.value, &bytes, &e) < 0)
                        return complain(EXIT_USAGE, "%s", e.text);
        }
        if (!name)
                return complain(EXIT_USAGE, "which share? vgpu set NAME --memory SIZE");
        if (!bytes)
                return complain(EXIT_USAGE, "set what? vgpu set %.63s --memory SIZE", name);
        if (!share_place_find(name, path))
                return complain_unknown_share(name);
        if (memory_set(path, bytes, &e) < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        return EXIT_OK;
}
