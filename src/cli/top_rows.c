/* Rates and a short past of the shares. */
#include "top_rows.h"

#include <stdlib.h>
#include <string.h>

const char *const top_sort_names[TOP_SORTS + 1] = {
        [TOP_BY_CORES] = "cores",
        [TOP_BY_MEMORY] = "memory",
        [TOP_BY_NAME] = "name",
};

void top_init(struct top *top)
{
        *top = (struct top){ .rows = VEC_OF(struct top_row), .gpus = VEC_OF(struct top_gpu) };
}

void top_done(struct top *top)
{
        vec_done(&top->rows);
        vec_done(&top->gpus);
}

static void history_add(struct top_history *history, double value)
{
        if (history->count == TOP_HISTORY) {
                memmove(history->values, history->values + 1,
                        (TOP_HISTORY - 1) * sizeof history->values[0]);
                history->count--;
        }
        history->values[history->count++] = (float)value;
}

static struct top_row *row_find(struct top *top, const struct usage *usage)
{
        for (size_t i = 0; i < top->rows.count; i++) {
                struct top_row *row = vec_at(&top->rows, i);

                if (strcmp(row->usage.share, usage->share) == 0 &&
                    strcmp(row->usage.uuid, usage->uuid) == 0)
                        return row;
        }
        return NULL;
}

static struct top_row *row_take(struct top *top, const struct usage *usage)
{
        struct top_row *row = row_find(top, usage);

        if (row)
                return row;
        if (vec_push(&top->rows, NULL) < 0)
                return NULL;
        row = vec_at(&top->rows, top->rows.count - 1);
        row->is_new = true;
        row->usage = *usage;
        return row;
}

/* A share that was made anew under an old name counts from 0 again: then there is no rate. */
static double rate(uint64_t before, uint64_t now, uint64_t passed_ns)
{
        return now < before || passed_ns == 0 ? 0 : (double)(now - before) / (double)passed_ns;
}

static void row_look(struct top_row *row, const struct usage *usage, uint64_t passed_ns)
{
        row->is_seen = true;
        row->cores_ratio = rate(row->usage.busy_ns, usage->busy_ns, passed_ns);
        row->throttled_ratio = rate(row->usage.throttled_ns, usage->throttled_ns, passed_ns);
        if (!row->is_new)
                history_add(&row->history, row->cores_ratio);
        row->is_new = false;
        row->usage = *usage;
}

static struct top_gpu *gpu_take(struct top *top, const char *uuid)
{
        for (size_t i = 0; i < top->gpus.count; i++) {
                struct top_gpu *gpu = vec_at(&top->gpus, i);

                if (strcmp(gpu->uuid, uuid) == 0)
                        return gpu;
        }
        if (vec_push(&top->gpus, NULL) < 0)
                return NULL;
        struct top_gpu *gpu = vec_at(&top->gpus, top->gpus.count - 1);

        memcpy(gpu->uuid, uuid, sizeof gpu->uuid);
        gpu->number = UINT32_MAX;
        return gpu;
}

static void gpus_look(struct top *top)
{
        for (size_t i = 0; i < top->gpus.count; i++) {
                struct top_gpu *gpu = vec_at(&top->gpus, i);

                gpu->held_bytes = 0;
                gpu->cores_ratio = 0;
                gpu->number = UINT32_MAX;
                gpu->is_seen = false;
        }
        for (size_t i = 0; i < top->rows.count; i++) {
                const struct top_row *row = vec_at(&top->rows, i);
                struct top_gpu *gpu = gpu_take(top, row->usage.uuid);

                if (!gpu)
                        continue;
                gpu->is_seen = true;
                if (gpu->number > row->usage.gpu)
                        gpu->number = row->usage.gpu;
                gpu->card_bytes = row->usage.card_bytes;
                gpu->held_bytes += row->usage.held_bytes;
                gpu->cores_ratio += row->cores_ratio;
        }
        for (size_t i = top->gpus.count; i-- > 0;) {
                struct top_gpu *gpu = vec_at(&top->gpus, i);

                if (gpu->is_seen)
                        history_add(&gpu->history, gpu->cores_ratio);
                else
                        vec_remove(&top->gpus, i);
        }
}

void top_look(struct top *top, const struct vec *usages, uint64_t now_ns)
{
        const uint64_t passed_ns = top->at_ns ? now_ns - top->at_ns : 0;

        for (size_t i = 0; i < top->rows.count; i++)
                ((struct top_row *)vec_at(&top->rows, i))->is_seen = false;
        for (size_t i = 0; i < usages->count; i++) {
                const struct usage *usage = vec_at(usages, i);
                struct top_row *row = row_take(top, usage);

                if (row)
                        row_look(row, usage, passed_ns);
        }
        for (size_t i = top->rows.count; i-- > 0;)
                if (!((struct top_row *)vec_at(&top->rows, i))->is_seen)
                        vec_remove(&top->rows, i);
        gpus_look(top);
        top->at_ns = now_ns;
}

static int by_name(const struct top_row *a, const struct top_row *b)
{
        return strcmp(a->usage.share, b->usage.share);
}

/* More comes first; equals by name, so that lines do not jump. */
static int by_cores(const struct top_row *a, const struct top_row *b)
{
        const int order = (a->cores_ratio < b->cores_ratio) - (a->cores_ratio > b->cores_ratio);

        return order ? order : by_name(a, b);
}

static int by_memory(const struct top_row *a, const struct top_row *b)
{
        const uint64_t left = a->usage.held_bytes, right = b->usage.held_bytes;

        return left != right ? (left < right) - (left > right) : by_name(a, b);
}

static int (*const orders[TOP_SORTS])(const struct top_row *, const struct top_row *) = {
        [TOP_BY_CORES] = by_cores,
        [TOP_BY_MEMORY] = by_memory,
        [TOP_BY_NAME] = by_name,
};

static int row_compare(const void *a, const void *b, void *sort)
{
        return orders[*(const enum top_sort *)sort](a, b);
}

static int gpu_compare(const void *a, const void *b)
{
        const struct top_gpu *left = a, *right = b;

        return left->number != right->number ? (left->number > right->number) * 2 - 1
                                             : strcmp(left->uuid, right->uuid);
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
        return !*filter || strstr(row->usage.share, filter) || strstr(row->usage.program, filter);
}

bool top_row_is_idle(const struct top_row *row)
{
        if (row->usage.held_bytes || row->usage.host_bytes)
                return false;
        for (unsigned i = 0; i < row->history.count; i++)
                if (row->history.values[i] > 0)
                        return false;
        return true;
}
