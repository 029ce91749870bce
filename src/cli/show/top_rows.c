/* SPDX-License-Identifier: Apache-2.0 */
/* What the shares do, and a short past of it. */
#include "top_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell_text.h"
#include "clock.h"
#include "str.h"

/* So long a refusal is worth a red line. */
#define REFUSED_NS (10 * NS_PER_S)
/* A figure of one second is a little off: no trouble yet. */
#define CORES_SLACK 0.10

const char *const top_sort_names[TOP_SORTS + 1] = {
        [TOP_BY_CORES] = "cores",
        [TOP_BY_MEMORY] = "memory",
        [TOP_BY_NAME] = "name",
};

const char *const top_trouble_texts[] = {
        [TOP_WELL] = "",
        [TOP_REFUSED] = "memory refused",
        [TOP_AT_LIMIT] = "memory at limit",
        [TOP_OVER_LIMIT] = "memory over limit",
        [TOP_OVER_CORES] = "cores over limit",
        [TOP_FAULT] = "region damaged",
};

void top_init(struct top *top)
{
        *top = (struct top){ .rows = VEC_OF(struct top_row),
                             .gpus = VEC_OF(struct top_gpu),
                             .troubles = VEC_OF(char[SNAPSHOT_TEXT]) };
}

void top_done(struct top *top)
{
        vec_done(&top->rows);
        vec_done(&top->gpus);
        vec_done(&top->troubles);
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

static bool is_same(const struct top_row *a, const struct top_row *b)
{
        if (a->is_stranger != b->is_stranger || strcmp(a->uuid, b->uuid) != 0)
                return false;
        return a->is_stranger ? strcmp(a->pid, b->pid) == 0
                              : strcmp(a->share, b->share) == 0 && strcmp(a->user, b->user) == 0;
}

static struct top_row *row_find(struct top *top, const struct top_row *wanted)
{
        for (size_t i = 0; i < top->rows.count; i++) {
                struct top_row *row = vec_at(&top->rows, i);

                if (is_same(row, wanted))
                        return row;
        }
        return NULL;
}

unsigned top_row_cap(const struct top_row *row)
{
        return row->cores_max_percent > row->cores_percent ? row->cores_max_percent
                                                           : row->cores_percent;
}

static enum top_trouble trouble_of(const struct top_row *row, uint64_t now_ns, bool is_faulty)
{
        const uint64_t held = row->physical_bytes + row->virtual_bytes;
        const unsigned cap = top_row_cap(row);

        if (row->is_stranger)
                return TOP_WELL;
        if (is_faulty)
                return TOP_FAULT;
        /* What an oversold share has on the host is beyond its limit as it should be. */
        if (row->limit_bytes != SHARE_UNLIMITED && row->physical_bytes > row->limit_bytes)
                return TOP_OVER_LIMIT;
        if (row->refused_ns && now_ns - row->refused_ns < REFUSED_NS)
                return TOP_REFUSED;
        if (row->limit_bytes != SHARE_UNLIMITED && row->limit_bytes && held == row->limit_bytes)
                return TOP_AT_LIMIT;
        if (cap && row->cores_ratio > cap / 100.0 + CORES_SLACK)
                return TOP_OVER_CORES;
        return TOP_WELL;
}

/* Puts what was seen into the row that has its past. */
static struct top_row *row_take(struct top *top, struct top_row *seen, uint64_t now_ns)
{
        struct top_row *row = row_find(top, seen);

        seen->is_seen = true;
        if (!row)
                return vec_push(&top->rows, seen) < 0 ? NULL
                                                      : vec_at(&top->rows, top->rows.count - 1);
        seen->refused_ns = seen->refusals > row->refusals ? now_ns : row->refused_ns;
        seen->history = row->history;
        history_add(&seen->history, seen->cores_ratio);
        memcpy(row, seen, sizeof *row);
        return row;
}

/* "team/train/main python3", "python3 +2". */
static void program_text(const struct share_view *share, char *to, size_t size)
{
        const struct share_process *first = vec_at(&share->processes, 0);
        const char *program = first ? first->program : share->program;
        char more[24] = "";

        if (share->processes.count > 1)
                snprintf(more, sizeof more, " +%zu", share->processes.count - 1);
        if (*share->pod)
                snprintf(to, size, "%.40s/%.80s/%.60s %.60s%s", share->pod_namespace, share->pod,
                         share->container, program, more);
        else
                snprintf(to, size, "%.200s%s", *program ? program : share->container, more);
        cell_text_trim(to);
}

static void pid_text(const struct share_view *share, char to[static 16])
{
        const struct share_process *first = vec_at(&share->processes, 0);

        if (share->processes.count == 1)
                snprintf(to, 16, "%d", (int)(first->host_pid ? first->host_pid : first->pid));
        else if (share->processes.count)
                snprintf(to, 16, "%u procs", (unsigned)share->processes.count % 100000);
        else
                snprintf(to, 16, "-");
}

static void share_take(struct top *top, const struct share_view *share, uint64_t now_ns)
{
        for (size_t i = 0; i < share->gpus.count; i++) {
                const struct share_gpu *gpu = vec_at(&share->gpus, i);
                struct top_row seen = { .is_first = i == 0,
                                        .physical_bytes = gpu->physical_bytes,
                                        .virtual_bytes = gpu->virtual_bytes,
                                        .limit_bytes = gpu->limit_bytes,
                                        .refusals = gpu->refusals,
                                        .cores_ratio = gpu->cores_used_percent / 100,
                                        .throttled_ratio = gpu->throttled_percent / 100,
                                        .lost_ratio = gpu->cores_lost_percent / 100,
                                        .is_used_known = gpu->is_used_known,
                                        .is_lost_known = gpu->is_lost_known,
                                        .cores_percent = gpu->cores_percent,
                                        .cores_max_percent = gpu->cores_max_percent };

                str_copy(seen.share, sizeof seen.share, share->name);
                str_copy(seen.user, sizeof seen.user, share->user);
                str_copy(seen.uuid, sizeof seen.uuid, gpu->uuid);
                program_text(share, seen.program, sizeof seen.program);
                pid_text(share, seen.pid);
                struct top_row *row = row_take(top, &seen, now_ns);

                if (row)
                        row->trouble = trouble_of(row, now_ns, *share->fault);
        }
}

static void stranger_take(struct top *top, const struct stranger *stranger, uint64_t now_ns)
{
        struct top_row seen = { .is_stranger = true,
                                .is_first = true,
                                .is_other_user = stranger->is_other_user,
                                .physical_bytes = stranger->used_bytes,
                                .limit_bytes = SHARE_UNLIMITED };

        str_copy(seen.user, sizeof seen.user, stranger->user);
        str_copy(seen.uuid, sizeof seen.uuid, stranger->uuid);
        str_copy(seen.program, sizeof seen.program, stranger->program);
        snprintf(seen.pid, sizeof seen.pid, "%d", (int)stranger->pid);
        row_take(top, &seen, now_ns);
}

static struct top_gpu *gpu_take(struct top *top, const struct gpu_view *view)
{
        struct top_gpu *gpu = NULL;

        for (size_t i = 0; i < top->gpus.count; i++) {
                gpu = vec_at(&top->gpus, i);
                if (strcmp(gpu->view.uuid, view->uuid) == 0)
                        break;
                gpu = NULL;
        }
        if (!gpu && vec_push(&top->gpus, NULL) < 0)
                return NULL;
        if (!gpu)
                gpu = vec_at(&top->gpus, top->gpus.count - 1);
        gpu->view = *view;
        gpu->is_seen = true;
        return gpu;
}

static void gpu_sum(const struct top *top, struct top_gpu *gpu)
{
        gpu->held_bytes = 0;
        gpu->cores_ratio = 0;
        for (size_t i = 0; i < top->rows.count; i++) {
                const struct top_row *row = vec_at(&top->rows, i);

                if (row->is_stranger || strcmp(row->uuid, gpu->view.uuid) != 0)
                        continue;
                gpu->held_bytes += row->physical_bytes;
                gpu->cores_ratio += row->cores_ratio;
        }
        /* The driver's second and our interval are not the same time: the larger is the truer. */
        gpu->busy_ratio = gpu->view.is_busy_told ? gpu->view.busy_percent / 100 : 0;
        if (gpu->cores_ratio > gpu->busy_ratio)
                gpu->busy_ratio = gpu->cores_ratio;
}

static void gpus_sample(struct top *top, const struct snapshot *snapshot)
{
        for (size_t i = 0; i < top->gpus.count; i++)
                ((struct top_gpu *)vec_at(&top->gpus, i))->is_seen = false;
        for (size_t i = 0; i < snapshot->gpus.count; i++) {
                struct top_gpu *gpu = gpu_take(top, vec_at(&snapshot->gpus, i));

                if (!gpu)
                        continue;
                gpu_sum(top, gpu);
                history_add(&gpu->history, gpu->busy_ratio);
        }
        for (size_t i = top->gpus.count; i-- > 0;)
                if (!((struct top_gpu *)vec_at(&top->gpus, i))->is_seen)
                        vec_remove(&top->gpus, i);
}

void top_sample(struct top *top, const struct snapshot *snapshot)
{
        for (size_t i = 0; i < top->rows.count; i++)
                ((struct top_row *)vec_at(&top->rows, i))->is_seen = false;
        for (size_t i = 0; i < snapshot->shares.count; i++)
                share_take(top, vec_at(&snapshot->shares, i), snapshot->monotonic_ns);
        for (size_t i = 0; i < snapshot->strangers.count; i++)
                stranger_take(top, vec_at(&snapshot->strangers, i), snapshot->monotonic_ns);
        for (size_t i = top->rows.count; i-- > 0;)
                if (!((struct top_row *)vec_at(&top->rows, i))->is_seen)
                        vec_remove(&top->rows, i);
        gpus_sample(top, snapshot);
        vec_done(&top->troubles);
        for (size_t i = 0; i < snapshot->troubles.count; i++)
                vec_push(&top->troubles, vec_at(&snapshot->troubles, i));
        top->share_count = (unsigned)snapshot->shares.count;
        top->at_ns = snapshot->monotonic_ns;
}
