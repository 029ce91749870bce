/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential delays with jitter. */
#include "backoff.h"

#include <sys/random.h>

enum { FIRST_MS = 200, MOST_MS = 30000, ASKED_MOST_MS = 120000 };

uint64_t backoff_next_ms(struct backoff *backoff, uint32_t chance, uint64_t asked_ms)
{
        const uint64_t most_ms = backoff->most_ms ? backoff->most_ms : MOST_MS;
        uint64_t delay_ms = backoff->first_ms ? backoff->first_ms : FIRST_MS;

        for (unsigned i = 0; i < backoff->tries && delay_ms < most_ms; i++)
                delay_ms *= 2;
        if (delay_ms > most_ms)
                delay_ms = most_ms;
        backoff->tries++;
        delay_ms = delay_ms / 2 + (delay_ms / 2) * chance / UINT32_MAX;
        /* All who were told the same number should still not come at the same moment. */
        if (asked_ms > ASKED_MOST_MS)
                asked_ms = ASKED_MOST_MS;
        return asked_ms > delay_ms ? asked_ms + delay_ms / 4 : delay_ms;
}

void backoff_reset(struct backoff *backoff)
{
        backoff->tries = 0;
}

uint32_t backoff_chance(void)
{
        uint32_t chance = 0;

        if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) != sizeof chance)
                return UINT32_MAX / 2;
        return chance;
}
