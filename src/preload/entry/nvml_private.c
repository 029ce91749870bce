/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi's private table: its lists of processes become the container's own. */
#include <stdint.h>
#include <string.h>

#include "nvml_view.h"

enum {
        SLOTS_MOST = 1024,
        SLOT_COMPUTE = 213, /* in nvidia-smi's release 535, to which the id belongs */
        SLOT_MPS = 214,
        SLOT_GRAPHICS = 215,
        ENTRY_BYTES = 4128,
};

/* {6c3efec4-8fc9-4e6c-a327-ee696e12f7c4} */
static const unsigned char private_id[16] = {
        0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
        0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4,
};

static struct {
        void *copy[SLOTS_MOST];
        nvml_list_fn *compute, *mps, *graphics;
} private_table;

static nvmlReturn_t own_compute(nvmlDevice_t device, unsigned *count, void *entries)
{
        return nvml_view_list(private_table.compute, device, count, entries, ENTRY_BYTES);
}

static nvmlReturn_t own_mps(nvmlDevice_t device, unsigned *count, void *entries)
{
        return nvml_view_list(private_table.mps, device, count, entries, ENTRY_BYTES);
}

static nvmlReturn_t own_graphics(nvmlDevice_t device, unsigned *count, void *entries)
{
        return nvml_view_list(private_table.graphics, device, count, entries, ENTRY_BYTES);
}

nvmlReturn_t hook_nvmlInternalGetExportTable(nvmlInternalGetExportTable_fn *real,
                                             const void **table, const void *id)
{
        nvmlReturn_t r = real(table, id);

        if (r != NVML_SUCCESS || !nvml_view_is_limited() ||
            memcmp(id, private_id, sizeof private_id))
                return r;
        uint64_t bytes = *(const uint64_t *)*table;
        if (bytes / sizeof(void *) <= SLOT_GRAPHICS || bytes > sizeof private_table.copy)
                return r;
        memcpy(private_table.copy, *table, bytes);
        private_table.compute = (nvml_list_fn *)private_table.copy[SLOT_COMPUTE];
        private_table.mps = (nvml_list_fn *)private_table.copy[SLOT_MPS];
        private_table.graphics = (nvml_list_fn *)private_table.copy[SLOT_GRAPHICS];
        private_table.copy[SLOT_COMPUTE] = (void *)own_compute;
        private_table.copy[SLOT_MPS] = (void *)own_mps;
        private_table.copy[SLOT_GRAPHICS] = (void *)own_graphics;
        *table = private_table.copy;
        return r;
}
