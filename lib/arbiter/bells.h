/* bells: sleep until one of many words changes, none of which is in our hands. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { BELLS_MOST = 128 }; /* what the kernel takes in one call */

struct bell {
        const _Atomic uint32_t *word;
        uint32_t seen;
};

/* Returns when a word is no longer as seen, or at that time (clock_now_ns()). Where the kernel cannot
 * wait for several at once (before 5.16), it looks every millisecond. */
void bells_wait(const struct bell *bells, unsigned count, uint64_t until_ns);
