/* SPDX-License-Identifier: Apache-2.0 */
/* log_limit: lines of one kind that others can cause without end: the first ones of each minute, and how many
 * more there were. Zeroed begins. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
        LOG_LIMIT_MOST = 10, /* lines … */
        LOG_LIMIT_S = 60,    /* … in so long */
};

struct log_limit {
        uint64_t began_ns; /* the minute; 0: none yet */
        unsigned shown;    /* of its lines */
        uint64_t hidden;   /* since the last line that was shown */
};

/* Pure: whether the next line may be shown, and how many before it were not. */
bool log_limit_take(struct log_limit *limit, uint64_t now_ns, uint64_t *ret_hidden);

/* A warning, if it may be shown. The last of a minute says that it is the last, the next one how many are missing. */
void log_limit_warn(struct log_limit *limit, uint64_t now_ns, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
