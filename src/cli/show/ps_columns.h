/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of `vgpu ps`, as rows: what they are called, which are shown, what gives way. */
#pragma once

#include "err.h"
#include "snapshot.h"
#include "table.h"

/* One line: a process of a share on one GPU, a share without one, or a stranger. */
struct ps_row {
        const struct snapshot *snapshot;
        const struct share_view *share;
        const struct share_process *process;
        const struct process_gpu *use;
        const struct share_gpu *limits; /* of the GPU */
        const struct stranger *stranger;
        const struct gpu_view *gpu;
};

struct ps_column {
        const char *key; /* of --columns */
        struct table_column shape;
        void (*add)(struct table *table, const struct ps_row *row);
        bool is_usual;  /* shown if nothing is said */
        bool is_of_all; /* shown if nothing is said, and other users are shown */
};

enum { PS_COLUMNS = 17 };
extern const struct ps_column ps_columns[PS_COLUMNS];

/* "share,pid,held": adds them to `ret_chosen`, at most TABLE_COLUMNS. How many; -EINVAL with a sentence. */
int ps_columns_parse(const char *text, const struct ps_column *ret_chosen[TABLE_COLUMNS],
                     struct err *e);
