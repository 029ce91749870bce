/* SPDX-License-Identifier: Apache-2.0 */
/* Links between GPUs, as a node tells of them. */
#include "node_links.h"

#include <errno.h>
#include <stdlib.h>

#include "json_memory.h"
#include "json_read.h"

/* Its index among the GPUs, or their count. */
static size_t index_of(const struct vec *devices, json_int_t id)
{
        size_t i = 0;

        while (i < devices->count && ((struct node_device *)vec_at(devices, i))->index != id)
                i++;
        return i;
}

static bool link_take(const json_t *item, const struct vec *devices, uint8_t *links)
{
        json_int_t values[3];

        for (size_t i = 0; i < 3; i++) {
                const json_t *value = json_array_get(item, i);

                values[i] = json_integer_value(value);
                if (!json_is_integer(value) || values[i] < 0 || values[i] > UINT16_MAX)
                        return false;
        }
        const size_t a = index_of(devices, values[0]), b = index_of(devices, values[1]);

        if (values[2] > UINT8_MAX || json_array_size(item) != 3)
                return false;
        if (a < devices->count && b < devices->count)
                links[a * devices->count + b] = links[b * devices->count + a] = (uint8_t)values[2];
        return true;
}

int node_links_parse(const char *text, const struct vec *devices, uint8_t **ret_links,
                     struct err *e)
{
        uint8_t *links =
                calloc(devices->count ? devices->count : 1, devices->count ? devices->count : 1);
        int r = 0;
        autojson json_t *root = json_memory_load_text(text, &r);
        json_t *item;
        bool is_good = json_is_array(root);
        size_t i;

        if (!links || r == -ENOMEM) {
                free(links);
                return err_set(e, -ENOMEM, "out of memory");
        }
        json_array_foreach (root, i, item)
                is_good = is_good && link_take(item, devices, links);
        if (is_good) {
                *ret_links = links;
                return 0;
        }
        free(links);
        return err_set(e, -EPROTO, "'%.60s…' is not a list of links between GPUs", text);
}
