/* A share's turns on a GPU, as the arbiter counts them. */
#include "ps_turns.h"

#include <sys/mman.h>

#include "gpu_page.h"

static void counts_json(struct json_out *json, const struct gpu_grant *grant)
{
        json_open(json, "turns", '{');
        json_number(json, "count", atomic_load(&grant->turns));
        json_number(json, "held_ns", atomic_load(&grant->held_ns));
        json_number(json, "waited_ns", atomic_load(&grant->waited_ns));
        json_number(json, "given_up", atomic_load(&grant->lapses));
        json_number(json, "quantum_ns", atomic_load(&grant->quantum_ns));
        json_number(json, "swap_ns", atomic_load(&grant->swap_ns));
        json_close(json, '}');
}

void ps_turns_json(struct json_out *json, const struct share_copy *copy, unsigned gpu)
{
        struct gpu_grant_file *grants;
        char path[SHARE_TEXT];

        /* A share of `vgpu run` has all its files in one folder. */
        gpu_page_grant_path(copy->region, path);
        if (gpu_grant_map(path, PROT_READ, &grants, NULL) < 0)
                return;
        if (gpu < grants->device_count)
                counts_json(json, &grants->devices[gpu]);
        gpu_grant_unmap(grants);
}
