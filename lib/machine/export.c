/* Memory, pools and events that one process offers to others. */
#include "export.h"

void export_reap(struct machine *machine, uint32_t slot)
{
        uint32_t high = atomic_load(&machine->file->header.exports_high);

        for (uint32_t i = 0; i < high; i++) {
                struct machine_export *row = &machine->file->exports[i];
                if (row->slot == slot + 1)
                        row->kind = EXPORT_FREE;
        }
}
