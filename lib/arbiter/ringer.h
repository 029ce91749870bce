/* ringer: a thread that waits for as many words as the kernel takes in one call, and rings one word when any of
 * them changes: so that one sleeper may wait for more words than that. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bells.h"

enum { RINGER_WORDS = BELLS_KERNEL_MOST - 1 }; /* one is the ringer's own */

struct ringer { /* zeroed: it sleeps, and there is no thread */
        pthread_t thread;
        bool has_thread;
        _Atomic uint32_t *rings;
        _Atomic uint32_t order; /* futex: look what to do */
        _Atomic bool is_over, is_armed;
        /* The thread's while it is armed, else its master's. */
        struct bell bells[RINGER_WORDS];
        unsigned count;
};

/* From now on `rings` is rung once when a word is no longer as seen. One that waits for just this goes on waiting.
 * Up to RINGER_WORDS.
 * false: there is no thread to be had. */
bool ringer_arm(struct ringer *ringer, const struct bell *bells, unsigned count,
                _Atomic uint32_t *rings);
bool ringer_has(const struct ringer *ringer, const _Atomic uint32_t *word);
void ringer_end(struct ringer *ringer); /* without a thread: nothing */
