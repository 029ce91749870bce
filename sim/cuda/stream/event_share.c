/* SPDX-License-Identifier: Apache-2.0 */
/* Events between processes: the machine's table says what was recorded and what was passed. */
#include "event_share.h"

#include <stdlib.h>
#include <time.h>

#include "sim_cuda.h"

enum { NAP_NS = 100000 };

/* A record that somebody waits for. */
struct record {
        struct event_share share;
        uint64_t number;
};

CUresult event_share_new(struct event_share *share, const struct device *device)
{
        const struct machine_export row = { .kind = EXPORT_EVENT, .unit = device->unit };

        if (export_add(&driver.machine, driver.slot, &row, &share->index, &share->number) < 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
        share->row = export_row(&driver.machine, share->index, share->number);
        share->is_owner = true;
        return share->row ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

void event_share_done(struct event_share *share)
{
        if (share->row && share->is_owner)
                export_remove(&driver.machine, share->index, share->number);
        *share = (struct event_share){ 0 };
}

static bool share_is_there(const struct event_share *share)
{
        return export_row(&driver.machine, share->index, share->number) != NULL;
}

static void record_pass(void *closure)
{
        struct record *record = closure;
        uint64_t *passed = &record->share.row->detail[1];
        uint64_t seen = __atomic_load_n(passed, __ATOMIC_ACQUIRE);

        while (share_is_there(&record->share) && seen < record->number &&
               !__atomic_compare_exchange_n(passed, &seen, record->number, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                ;
        free(record);
}

static struct record *record_new(const struct event_share *share, uint64_t number)
{
        struct record *record = malloc(sizeof *record);

        if (record)
                *record = (struct record){ *share, number };
        return record;
}

CUresult event_share_record(const struct event_share *share, struct context *context,
                            const struct mark *mark)
{
        struct record *record = record_new(share, 0);
        struct stream *side;
        CUresult r;

        if (!record)
                return CUDA_ERROR_OUT_OF_MEMORY;
        /* On a stream of its own: nothing else waits for the message to be sent. */
        r = stream_new(context, CU_STREAM_NON_BLOCKING, 0, &side);
        if (r != CUDA_SUCCESS) {
                free(record);
                return r;
        }
        r = work_join(side, mark);
        if (r == CUDA_SUCCESS) {
                record->number = __atomic_add_fetch(&share->row->detail[0], 1, __ATOMIC_ACQ_REL);
                r = work_submit_host(side, record_pass, record, NULL);
        }
        if (r != CUDA_SUCCESS)
                free(record);
        stream_free(side);
        return r;
}

uint64_t event_share_newest(const struct event_share *share)
{
        return __atomic_load_n(&share->row->detail[0], __ATOMIC_ACQUIRE);
}

bool event_share_is_passed(const struct event_share *share, uint64_t record)
{
        return __atomic_load_n(&share->row->detail[1], __ATOMIC_ACQUIRE) >= record ||
               !share_is_there(share);
}

void event_share_wait(const struct event_share *share, uint64_t record)
{
        const struct timespec nap = { .tv_nsec = NAP_NS };

        while (!event_share_is_passed(share, record))
                nanosleep(&nap, NULL);
}

static bool record_is_passed(void *closure)
{
        const struct record *record = closure;

        return event_share_is_passed(&record->share, record->number);
}

CUresult event_share_join(const struct event_share *share, struct stream *stream)
{
        uint64_t newest = event_share_newest(share);
        struct record *record;

        if (event_share_is_passed(share, newest))
                return CUDA_SUCCESS;
        record = record_new(share, newest);
        if (!record)
                return CUDA_ERROR_OUT_OF_MEMORY;
        return work_submit_poll(stream, record_is_passed, free, record);
}
