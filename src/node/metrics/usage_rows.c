/* SPDX-License-Identifier: Apache-2.0 */
/* usage_rows: collects, then splits GPU by GPU. */
#include "usage_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_process.h"
#include "gpu_usage.h"

enum { PARTS_MOST = 256 };

struct usage_row {
        char uuid[96];
        double *used_ratio, *lost_ratio;
        struct gpu_usage_part part;
};

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

int usage_rows_add(struct usage_rows *usage, const char *uuid, double own_ratio,
                   double *ret_used_ratio, double *ret_lost_ratio)
{
        struct usage_row row = { .used_ratio = ret_used_ratio,
                                 .lost_ratio = ret_lost_ratio,
                                 .part = { .own = 100 * own_ratio, .has_ended = true } };

        str_copy(row.uuid, sizeof row.uuid, uuid);
        return vec_push(&usage->rows, &row) < 0 ? -1 : (int)usage->rows.count - 1;
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

/* What no container has of the GPU. True: the driver tells how busy a process keeps it. */
static bool outside_sum(const struct usage_rows *usage, const struct gpu *gpu, double *ret_percent)
{
        bool is_told = false;

        for (size_t i = 0; usage->processes && i < usage->processes->count; i++) {
                const struct gpu_process *process = vec_at(usage->processes, i);

                if (strcmp(process->uuid, gpu->uuid) != 0 || !process->is_busy_told)
                        continue;
                is_told = true;
                if (!usage->is_taken[i])
                        *ret_percent += process->busy_percent;
        }
        return is_told;
}

double usage_rows_split(struct usage_rows *usage, const struct gpu *gpu)
{
        struct gpu_usage whole = { .busy = gpu->busy_percent, .is_busy_told = !gpu->is_mig };
        struct usage_row *rows[PARTS_MOST];
        struct gpu_usage_part parts[PARTS_MOST];
        size_t count = 0;

        whole.is_told = outside_sum(usage, gpu, &whole.outside);
        for (size_t i = 0; i < usage->rows.count && count < PARTS_MOST; i++) {
                rows[count] = vec_at(&usage->rows, i);
                if (strcmp(rows[count]->uuid, gpu->uuid) == 0) {
                        parts[count] = rows[count]->part;
                        count++;
                }
        }
        /* A GPU's rate and a region's second are not the same time: alone, it bears nothing out. */
        whole.is_busy_told = whole.is_busy_told && whole.is_told;
        gpu_usage_split(&whole, parts, count);
        for (size_t i = 0; i < count; i++) {
                *rows[i]->used_ratio = parts[i].used / 100;
                if (whole.is_told)
                        *rows[i]->lost_ratio = parts[i].lost / 100;
        }
        return whole.is_told ? whole.outside / 100 : NAN;
}
