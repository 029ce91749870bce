/* SPDX-License-Identifier: Apache-2.0 */
/* What the columns of `vgpu ps` say of a row. */
#include "ps_columns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "size_text.h"

static void user_add(struct table *table, const struct ps_row *row)
{
        const char *user = row->share ? row->share->user : row->stranger->user;

        table_add(table, "%s", *user ? user : "-");
}

static void share_add(struct table *table, const struct ps_row *row)
{
        table_add(table, "%s", row->share ? row->share->name : "-");
}

static void pid_add(struct table *table, const struct ps_row *row)
{
        if (row->stranger)
                table_add(table, "%d", (int)row->stranger->pid);
        else if (row->process)
                table_add(
                        table, "%d",
                        (int)(row->process->host_pid ? row->process->host_pid : row->process->pid));
        else
                table_add(table, "-");
}

static void program_add(struct table *table, const struct ps_row *row)
{
        const char *program = row->stranger  ? row->stranger->program
                              : row->process ? row->process->program
                                             : "-";

        table_add(table, "%s", *program ? program : "-");
}

static void gpu_add(struct table *table, const struct ps_row *row)
{
        if (!row->gpu)
                table_add(table, "-");
        else if (row->gpu->instance)
                table_add(table, "%u:%u", row->gpu->index, row->gpu->instance);
        else
                table_add(table, "%u", row->gpu->index);
}

static void model_add(struct table *table, const struct ps_row *row)
{
        table_add(table, "%s", row->gpu && *row->gpu->name ? gpu_short_name(row->gpu->name) : "-");
}

static void size_add(struct table *table, uint64_t bytes)
{
        char text[SIZE_TEXT];

        table_add(table, "%s", size_text(bytes, text));
}

static void held_add(struct table *table, const struct ps_row *row)
{
        if (row->stranger)
                size_add(table, row->stranger->used_bytes);
        else if (row->process)
                size_add(table, row->use ? process_gpu_held_bytes(row->use) : 0);
        else
                table_add(table, "-");
}

static void kind_add(struct table *table, const struct ps_row *row, enum region_kind kind)
{
        if (row->process)
                size_add(table, row->use ? row->use->kinds[kind] : 0);
        else
                table_add(table, "-");
}

static void device_add(struct table *table, const struct ps_row *row)
{
        kind_add(table, row, REGION_DEVICE);
}

static void managed_add(struct table *table, const struct ps_row *row)
{
        kind_add(table, row, REGION_MANAGED);
}

static void context_add(struct table *table, const struct ps_row *row)
{
        kind_add(table, row, REGION_CONTEXT);
}

static void other_add(struct table *table, const struct ps_row *row)
{
        kind_add(table, row, REGION_OTHER);
}

static void virtual_add(struct table *table, const struct ps_row *row)
{
        if (row->process)
                size_add(table, row->use ? row->use->virtual_bytes : 0);
        else
                table_add(table, "-");
}

static void resident_add(struct table *table, const struct ps_row *row)
{
        if (row->stranger)
                size_add(table, row->stranger->used_bytes);
        else if (row->use && row->use->is_resident_told)
                size_add(table, row->use->resident_bytes);
        else
                table_add(table, "-");
}

static void limit_add(struct table *table, const struct ps_row *row)
{
        size_add(table, row->limits ? row->limits->limit_bytes : SHARE_UNLIMITED);
}

/* "12.3/30%": used and allowed; "-": there is no limit. */
static void cores_add(struct table *table, const struct ps_row *row)
{
        const unsigned cap = row->limits ? share_gpu_cap_percent(row->limits) : 0;

        if (cap && !row->limits->is_used_known)
                table_add(table, "-/%u%%", cap);
        else if (cap)
                table_add(table, "%.1f/%u%%", row->limits->cores_used_percent, cap);
        else
                table_add(table, "-");
}

/* "25.0%": it had work then, and the GPU did that of programs without a share. */
static void lost_add(struct table *table, const struct ps_row *row)
{
        if (row->limits && row->limits->is_lost_known)
                table_add(table, "%.1f%%", row->limits->cores_lost_percent);
        else
                table_add(table, "-");
}

static void throttled_add(struct table *table, const struct ps_row *row)
{
        if (row->limits)
                table_add(table, "%.1f%%", row->limits->throttled_percent);
        else
                table_add(table, "-");
}

const struct ps_column ps_columns[PS_COLUMNS] = {
        { "share", { "SHARE", false, 8, 0 }, share_add, true, true },
        { "user", { "USER", false, 6, 2 }, user_add, false, true },
        { "pid", { "PID", true, 0, 0 }, pid_add, true, true },
        { "program", { "PROGRAM", false, 8, 4 }, program_add, true, true },
        { "gpu", { "GPU", true, 0, 3 }, gpu_add, true, true },
        { "model", { "MODEL", false, 10, 7 }, model_add, true, true },
        { "held", { "HELD", true, 0, 0 }, held_add, true, true },
        { "device", { "DEVICE", true, 0, 8 }, device_add, false, false },
        { "managed", { "MANAGED", true, 0, 8 }, managed_add, false, false },
        { "context", { "CONTEXT", true, 0, 8 }, context_add, false, false },
        { "other", { "OTHER", true, 0, 8 }, other_add, false, false },
        { "virtual", { "VIRTUAL", true, 0, 8 }, virtual_add, false, false },
        { "resident", { "RESIDENT", true, 0, 8 }, resident_add, false, false },
        { "limit", { "LIMIT", true, 0, 5 }, limit_add, true, true },
        { "cores", { "CORES", true, 0, 6 }, cores_add, true, true },
        { "throttled", { "THROTTLED", true, 0, 8 }, throttled_add, false, false },
        { "lost", { "LOST", true, 0, 8 }, lost_add, false, false },
};

static const struct ps_column *column_find(const char *key, size_t length)
{
        for (size_t i = 0; i < PS_COLUMNS; i++)
                if (strlen(ps_columns[i].key) == length &&
                    strncmp(ps_columns[i].key, key, length) == 0)
                        return &ps_columns[i];
        return NULL;
}

static int column_unknown(const char *key, size_t length, struct err *e)
{
        struct nearest nearest = { 0 };
        char name[32], hint[96];

        snprintf(name, sizeof name, "%.*s", (int)length, key);
        for (size_t i = 0; i < PS_COLUMNS; i++)
                nearest_offer(&nearest, name, ps_columns[i].key);
        return err_set(e, -EINVAL, "'vgpu ps' has no column '%s'%s; see 'vgpu ps --help'", name,
                       nearest_text(&nearest, "", hint, sizeof hint));
}

int ps_columns_parse(const char *text, const struct ps_column *ret_chosen[TABLE_COLUMNS],
                     struct err *e)
{
        int count = 0;

        for (;;) {
                const size_t length = strcspn(text, ",");
                const struct ps_column *column = column_find(text, length);

                if (!column)
                        return column_unknown(text, length, e);
                if (count == TABLE_COLUMNS)
                        return err_set(e, -EINVAL, "--columns names more than %d columns",
                                       TABLE_COLUMNS);
                ret_chosen[count++] = column;
                if (!text[length])
                        return count;
                text += length + 1;
        }
}
