/* SPDX-License-Identifier: Apache-2.0 */
/* backoff: how long to wait before the next try: twice as long each time, never all at once. */
#pragma once

#include <stdint.h>

struct backoff {
        unsigned first_ms, most_ms; /* 0: 200 ms, 30 s */
        unsigned tries;             /* so far */
};

/* Between half and all of this try's delay, by chance (0…UINT32_MAX); at least what the server asked
 * for (0: nothing). */
uint64_t backoff_next_ms(struct backoff *backoff, uint32_t chance, uint64_t asked_ms);
void backoff_reset(struct backoff *backoff);

uint32_t backoff_chance(void); /* from the kernel */
