/* SPDX-License-Identifier: Apache-2.0 */
/* stream_end: the last few. */
#include "stream_end.h"

#include <stdatomic.h>

enum { ENDED_KNOWN = 32 };

/* The last streams that were destroyed: such a handle may be another stream's now. */
static struct {
        _Atomic uint64_t count;
        _Atomic(CUstream) last[ENDED_KNOWN];
} stream_end;

void stream_end_note(CUstream stream)
{
        atomic_store(&stream_end.last[atomic_load(&stream_end.count) % ENDED_KNOWN], stream);
        atomic_fetch_add(&stream_end.count, 1);
}

uint64_t stream_end_count(void)
{
        return atomic_load(&stream_end.count);
}

bool stream_end_spared(CUstream stream, uint64_t since)
{
        const uint64_t count = stream_end_count();

        if (count - since > ENDED_KNOWN)
                return false;
        for (uint64_t i = since; i < count; i++)
                if (atomic_load(&stream_end.last[i % ENDED_KNOWN]) == stream)
                        return false;
        return true;
}
