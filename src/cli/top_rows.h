/* What `vgpu top` shows: rates and a short past, made of one look after the other. */
#pragma once

#include <stdbool.h>

#include "usage.h"

enum { TOP_HISTORY = 60 };

struct top_history {
        float values[TOP_HISTORY]; /* 0…1; the newest last */
        unsigned count;
};

struct top_row { /* a share on a GPU */
        struct usage usage;
        bool is_new;            /* seen once: it has no rate yet */
        bool is_seen;           /* by the look under way */
        double cores_ratio;     /* of the GPU's time since the last look */
        double throttled_ratio; /* of the time since, it waited for its limit */
        struct top_history history;
};

struct top_gpu {
        char uuid[SHARE_UUID];
        unsigned number;     /* the least that a share gives it */
        uint64_t card_bytes; /* 0: not known */
        uint64_t held_bytes; /* by all shares */
        double cores_ratio;
        bool is_seen;
        struct top_history history;
};

enum top_sort { TOP_BY_CORES, TOP_BY_MEMORY, TOP_BY_NAME, TOP_SORTS };
extern const char *const top_sort_names[TOP_SORTS + 1]; /* ends with NULL */

struct top {
        struct vec rows; /* of struct top_row */
        struct vec gpus; /* of struct top_gpu */
        uint64_t at_ns;  /* of the last look; 0: none yet */
};

void top_init(struct top *top);
void top_done(struct top *top);

/* Takes in what was seen at `now_ns`. Rows that are gone vanish. */
void top_look(struct top *top, const struct vec *usages, uint64_t now_ns);
void top_order(struct top *top, enum top_sort sort);
/* A row passes a filter that is part of its share's or program's name; an empty one passes all. */
bool top_passes(const struct top_row *row, const char *filter);
/* Nothing held and nothing done for as long as the history goes: not worth a line beside others. */
bool top_row_is_idle(const struct top_row *row);
