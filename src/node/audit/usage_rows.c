/* SPDX-License-Identifier: Apache-2.0 */
/* usage_rows: collects, then splits device by device. */
#include "usage_rows.h"

#include <stdlib.h>
#include <string.h>

#include "gpu_process.h"
#include "str.h"

enum { PARTS_MOST = 256 }; /* shares of one device; beyond that, the regions' figures stand */

void usage_rows_init(struct usage_rows *usage, const struct vec *processes)
{
        *usage = (struct usage_rows){ .rows = VEC_OF(struct usage_row), .processes = processes };
        if (processes && processes->count)
                usage->is_taken = calloc(processes->count, sizeof *usage->is_taken);
        if (!usage->is_taken)
                usage->processes = NULL;
}

void usage_rows_done(struct usage_rows *usage)
{
        vec_done(&usage->rows);
        free(usage->is_taken);
}

int usage_rows_add(struct usage_rows *usage, const char *uuid, const struct gpu_usage_part *own)
{
        struct usage_row row = { .part = *own };

        str_copy(row.uuid, sizeof row.uuid, uuid);
        row.part.used = own->own;
        row.is_used_known = !own->is_unlimited || own->own > 0;
        return vec_push(&usage->rows, &row) < 0 ? -1 : (int)usage->rows.count - 1;
}

const struct usage_row *usage_rows_at(const struct usage_rows *usage, int row)
{
        return row < 0 ? NULL : vec_at(&usage->rows, (size_t)row);
}

void usage_rows_take(struct usage_rows *usage, int index, uint32_t pid)
{
        struct usage_row *row = index < 0 ? NULL : vec_at(&usage->rows, (size_t)index);

        for (size_t i = 0; row && pid && usage->processes && i < usage->processes->count; i++) {
                const struct gpu_process *process = vec_at(usage->processes, i);

                if (process->pid != pid || usage->is_taken[i] ||
                    strcmp(process->uuid, row->uuid) != 0)
                        continue;
                usage->is_taken[i] = true;
                row->part.told += process->busy_percent;
                row->part.rounded += process->busy_percent > 0;
        }
}

/* What no container has of the device, where the driver tells how busy a process keeps it. */
static void outside_sum(const struct usage_rows *usage, const char *uuid, struct gpu_usage *gpu)
{
        for (size_t i = 0; usage->processes && i < usage->processes->count; i++) {
                const struct gpu_process *process = vec_at(usage->processes, i);

                if (strcmp(process->uuid, uuid) != 0 || !process->is_busy_told)
                        continue;
                gpu->is_told = true;
                if (usage->is_taken[i])
                        continue;
                gpu->outside += process->busy_percent;
                gpu->rounded += process->busy_percent > 0;
        }
}

void usage_rows_split(struct usage_rows *usage, const char *uuid, struct gpu_usage *gpu)
{
        struct usage_row *rows[PARTS_MOST];
        struct gpu_usage_part parts[PARTS_MOST];
        size_t count = 0;

        outside_sum(usage, uuid, gpu);
        for (size_t i = 0; i < usage->rows.count && count < PARTS_MOST; i++) {
                rows[count] = vec_at(&usage->rows, i);
                if (strcmp(rows[count]->uuid, uuid) == 0) {
                        parts[count] = rows[count]->part;
                        count++;
                }
        }
        /* A GPU's rate and a region's second are not the same time: alone, it bears nothing out. */
        gpu->is_busy_told = gpu->is_busy_told && gpu->is_told;
        gpu_usage_split(gpu, parts, count);
        for (size_t i = 0; i < count; i++) {
                rows[i]->part = parts[i];
                rows[i]->is_used_known = gpu_usage_is_known(gpu, &parts[i]);
                rows[i]->is_lost_known = gpu->is_told;
        }
}
