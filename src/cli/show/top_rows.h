/* SPDX-License-Identifier: Apache-2.0 */
/* What `vgpu top` shows: the last second and a short past, made of one snapshot after the other. */
#pragma once

#include <stdbool.h>

#include "snapshot.h"

enum { TOP_HISTORY = 60 };

struct top_history {
        float values[TOP_HISTORY]; /* 0…1; the newest last */
        unsigned count;
};

enum top_trouble { TOP_WELL, TOP_REFUSED, TOP_AT_LIMIT, TOP_OVER_LIMIT, TOP_OVER_CORES, TOP_FAULT };
extern const char *const top_trouble_texts[];

struct top_row { /* a share on a GPU, or a stranger there */
        char share[64], user[SNAPSHOT_USER], uuid[SHARE_UUID];
        char program[SNAPSHOT_TEXT], pid[16];      /* pid: "3 procs", "-" */
        bool is_stranger, is_other_user, is_first; /* first: the GPU is the first of its share */
        uint64_t physical_bytes, virtual_bytes, limit_bytes, refusals;
        unsigned cores_percent, cores_max_percent; /* 0: no limit */
        enum top_trouble trouble;
        bool is_seen; /* by the sample under way */
        bool is_used_known, is_lost_known;
        /* Of the last second: what the GPU did for it; how long it waited for its limit; how long it had work, and
         * the GPU did that of a stranger. */
        double cores_ratio, throttled_ratio, lost_ratio;
        uint64_t refused_ns; /* when memory was last refused; 0: not since the first sample */
        struct top_history history;
};

struct top_gpu {
        struct gpu_view view;
        uint64_t held_bytes; /* by all shares */
        double cores_ratio;  /* by all shares */
        double busy_ratio;   /* by everybody, as the driver says; else by the shares */
        bool is_seen;
        struct top_history history;
};

enum top_sort { TOP_BY_CORES, TOP_BY_MEMORY, TOP_BY_NAME, TOP_SORTS };
extern const char *const top_sort_names[TOP_SORTS + 1]; /* ends with NULL */

struct top {
        struct vec rows;     /* of struct top_row */
        struct vec gpus;     /* of struct top_gpu */
        struct vec troubles; /* of char[SNAPSHOT_TEXT] */
        unsigned share_count;
        uint64_t at_ns; /* of the last sample; 0: none yet */
};

void top_init(struct top *top);
void top_done(struct top *top);

/* Takes the snapshot in. Rows that are gone vanish. */
void top_sample(struct top *top, const struct snapshot *snapshot);
void top_order(struct top *top, enum top_sort sort);
/* A row passes a filter that is part of its share's, user's or program's name; an empty one passes all. */
bool top_passes(const struct top_row *row, const char *filter);
/* Nothing held and nothing done for as long as the history goes: not worth a line beside others. */
bool top_row_is_idle(const struct top_row *row);
/* The most it may use of the GPU, in percent; 0: no limit. */
unsigned top_row_cap(const struct top_row *row);
