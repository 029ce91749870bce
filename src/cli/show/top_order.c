/* SPDX-License-Identifier: Apache-2.0 */
/* In which order rows are shown, and which are. */
#include <stdlib.h>
#include <string.h>

#include "top_rows.h"

static int by_name(const struct top_row *a, const struct top_row *b)
{
        const int order = strcmp(a->share, b->share);

        return order ? order : strcmp(a->user, b->user);
}

/* More comes first; equals by name, so that lines do not jump. */
static int by_cores(const struct top_row *a, const struct top_row *b)
{
        const int order = (a->cores_ratio < b->cores_ratio) - (a->cores_ratio > b->cores_ratio);

        return order ? order : by_name(a, b);
}

static int by_memory(const struct top_row *a, const struct top_row *b)
{
        const uint64_t left = a->physical_bytes, right = b->physical_bytes;

        return left != right ? (left < right) - (left > right) : by_name(a, b);
}

static int (*const orders[TOP_SORTS])(const struct top_row *, const struct top_row *) = {
        [TOP_BY_CORES] = by_cores,
        [TOP_BY_MEMORY] = by_memory,
        [TOP_BY_NAME] = by_name,
};

/* Strangers come after the shares. */
static int row_compare(const void *a, const void *b, void *sort)
{
        const struct top_row *left = a, *right = b;

        if (left->is_stranger != right->is_stranger)
                return left->is_stranger ? 1 : -1;
        return orders[*(const enum top_sort *)sort](left, right);
}

int gpu_view_compare(const void *a, const void *b)
{
        const struct gpu_view *left = a, *right = b;
        const int order = strcmp(left->machine, right->machine);

        if (order)
                return order;
        if (left->index != right->index)
                return left->index > right->index ? 1 : -1;
        if (left->instance != right->instance)
                return left->instance > right->instance ? 1 : -1;
        return strcmp(left->uuid, right->uuid);
}

static int gpu_compare(const void *a, const void *b)
{
        return gpu_view_compare(&((const struct top_gpu *)a)->view,
                                &((const struct top_gpu *)b)->view);
}

void top_order(struct top *top, enum top_sort sort)
{
        if (top->rows.count)
                qsort_r(top->rows.items, top->rows.count, sizeof(struct top_row), row_compare,
                        &sort);
        if (top->gpus.count)
                qsort(top->gpus.items, top->gpus.count, sizeof(struct top_gpu), gpu_compare);
}

bool top_passes(const struct top_row *row, const char *filter)
{
        return !*filter || strstr(row->share, filter) || strstr(row->program, filter) ||
               strstr(row->user, filter);
}

bool top_row_is_idle(const struct top_row *row)
{
        if (row->physical_bytes || row->virtual_bytes)
                return false;
        for (unsigned i = 0; i < row->history.count; i++)
                if (row->history.values[i] > 0)
                        return false;
        return true;
}
