/* SPDX-License-Identifier: Apache-2.0 */
/* What several commands ask for alike: a share by name. */
#include "share_option.h"

#include <unistd.h>

#include "command.h"
#include "nearest.h"
#include "run_folder.h"
#include "run_folders.h"
#include "str.h"

struct known {
        char names[64][64];
        unsigned count;
};

static void on_share(void *owner, const struct user_share *share)
{
        struct known *known = owner;

        if (known->count < sizeof known->names / sizeof *known->names)
                str_copy(known->names[known->count++], sizeof *known->names, share->name);
}

int complain_unknown_share(const char *name)
{
        struct vec paths = VEC_OF(char[SHARE_TEXT]);
        struct nearest nearest = { 0 };
        struct known known = { 0 };
        char hint[96];

        run_folder_list(&paths);
        for (; known.count < paths.count && known.count < 64; known.count++)
                run_folder_name(vec_at(&paths, known.count), known.names[known.count]);
        if (geteuid() == 0)
                user_shares_each(on_share, &known);
        for (unsigned i = 0; i < known.count; i++)
                nearest_offer(&nearest, name, known.names[i]);
        vec_done(&paths);
        return complain(EXIT_FAILED, "there is no share '%.63s'%s; see 'vgpu ps'", name,
                        nearest_text(&nearest, "", hint, sizeof hint));
}

bool complain_excess(const struct share_device *device, unsigned gpu)
{
        char text[SHARE_EXCESS_TEXT];

        if (!share_memory_excess(device, gpu, text))
                return false;
        complain(0, "warning: --memory %s", text);
        return true;
}

void complain_excesses(const struct share_memory *memory, const struct share_copy *copy)
{
        for (unsigned i = 0; memory->bytes && i < copy->device_count; i++)
                if (complain_excess(&copy->devices[i], i))
                        return;
}
