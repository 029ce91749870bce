/* bells: sleep until one of many words changes, none of which is in our hands. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BELLS_MOST = 128 }; /* what the kernel takes in one call */

struct bell {
        const _Atomic uint32_t *word;
        uint32_t seen;
};

/* Returns when a word is no longer as seen, or at that time (clock_now_ns()). One thread calls it.
 * Where the kernel cannot wait for several words at once (before 5.16), a thread waits for each. */
void bells_wait(const struct bell *bells, unsigned count, uint64_t until_ns);
/* Before a word's mapping goes. */
void bells_forget(const _Atomic uint32_t *word);

/* Threads, whatever the kernel can do: for tests. */
void bells_use_threads(bool is_on);
