/* SPDX-License-Identifier: Apache-2.0 */
/* [{"id":0,"type":…,"uuid":…,"core":100,"memory":8192,"number":10,"numa":0,"mig":false,…}] */
#include "node_devices.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "json_memory.h"
#include "json_read.h"
#include "str.h"

static bool device_take(const json_t *item, struct node_device *ret_device)
{
        int64_t index, memory, cores, slots, numa;

        if (!json_read_number(item, "id", 0, UINT16_MAX, &index) ||
            !json_read_number(item, "memory", 0, INT64_C(1) << 40, &memory) ||
            !json_read_number(item, "core", 0, 100000, &cores) ||
            !json_read_number(item, "number", 0, UINT16_MAX, &slots) ||
            !json_read_number(item, "numa", -1, INT16_MAX, &numa) ||
            !json_read_copy(item, "uuid", ret_device->uuid, sizeof ret_device->uuid) ||
            !json_read_copy(item, "type", ret_device->type, sizeof ret_device->type))
                return false;
        ret_device->index = (unsigned)index;
        ret_device->memory_mib = (uint64_t)memory;
        ret_device->cores = (uint32_t)cores;
        ret_device->slots = (uint16_t)slots;
        ret_device->numa = (int16_t)numa;
        ret_device->memory_factor = 1;
        ret_device->is_mig = json_read_is_true(item, "mig");
        ret_device->is_healthy = json_read_is_true(item, "healthy");
        return true;
}

int node_devices_parse(const char *text, struct vec *ret_devices, struct err *e)
{
        int r = 0;
        autojson json_t *root = json_memory_load_text(text, &r);
        json_t *item;
        size_t i;

        *ret_devices = (struct vec)VEC_OF(struct node_device);
        if (root && !json_is_array(root))
                r = -EPROTO;
        json_array_foreach (root, i, item) {
                struct node_device device = { 0 };

                if (r == 0)
                        r = device_take(item, &device) ? vec_push(ret_devices, &device) : -EPROTO;
        }
        if (r == 0)
                return 0;
        vec_done(ret_devices);
        if (r == -ENOMEM)
                return err_set(e, r, "cannot read the registration of GPUs: out of memory");
        return err_set(e, -EPROTO, "'%.60s…' is not a registration of GPUs", text);
}

int node_devices_configure(struct vec *devices, const char *text)
{
        int r = 0;
        autojson json_t *root = text ? json_memory_load_text(text, &r) : NULL;
        int64_t factor;

        if (json_read_number(root, "memoryFactor", 1, 1 << 20, &factor))
                for (size_t i = 0; i < devices->count; i++)
                        ((struct node_device *)vec_at(devices, i))->memory_factor =
                                (uint32_t)factor;
        return r == -ENOMEM ? r : 0;
}
