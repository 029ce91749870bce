/* SPDX-License-Identifier: Apache-2.0 */
/* futex_relay: a thread that waits for as many words as the kernel takes in one call, and rings one word when
 * any of them changes. One sleeper can so wait for more words than one call takes. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "futex_set.h"

enum { FUTEX_RELAY_WORDS = FUTEX_SET_KERNEL_MOST - 1 }; /* one is the relay's own */

struct futex_relay { /* zeroed: it sleeps, and there is no thread */
        pthread_t thread;
        bool has_thread;
        _Atomic uint32_t *rings;
        _Atomic uint32_t order; /* futex: there is something to do */
        _Atomic bool is_over, is_armed;
        /* The thread's while it is armed, else its master's. */
        struct futex_entry entries[FUTEX_RELAY_WORDS];
        unsigned count;
};

/* From now on `rings` is rung once when a word is no longer as seen. One that waits for just this goes on waiting.
 * Up to FUTEX_RELAY_WORDS.
 * false: there is no thread to be had. */
bool futex_relay_arm(struct futex_relay *relay, const struct futex_entry *entries, unsigned count,
                     _Atomic uint32_t *rings);
bool futex_relay_has(const struct futex_relay *relay, const _Atomic uint32_t *word);
void futex_relay_end(struct futex_relay *relay); /* without a thread: nothing */
