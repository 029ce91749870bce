/* SPDX-License-Identifier: Apache-2.0 */
/* Events between processes: recorded in one, waited for in another. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export.h"
#include "work.h"

/* An event's row in the machine's table: detail 0 counts records, detail 1 is the newest of them
 * that was passed. Whoever records sees to it that the second follows the first. */
struct event_share {
        struct machine_export *row; /* NULL: the event is this process's own */
        uint32_t index;
        uint64_t number;
        bool is_owner; /* it goes with this event */
};

/* A row of one's own. OUT_OF_MEMORY: the table is full. */
CUresult event_share_new(struct event_share *share, const struct device *device);
void event_share_done(struct event_share *share);

/* The event was recorded at the mark. */
CUresult event_share_record(const struct event_share *share, struct context *context,
                            const struct mark *mark);
/* The newest record; 0: none. */
uint64_t event_share_newest(const struct event_share *share);
/* A row that is gone holds nobody up. */
bool event_share_is_passed(const struct event_share *share, uint64_t record);
void event_share_wait(const struct event_share *share, uint64_t record);
/* The next work on the stream waits for the newest record. */
CUresult event_share_join(const struct event_share *share, struct stream *stream);
