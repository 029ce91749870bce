/* SPDX-License-Identifier: Apache-2.0 */
/* By a timer and not where memory is freed: a request that comes at once finds it still there. */
#include "heap_trim.h"

#include <malloc.h>

#include "clock.h"
#include "list.h"

enum { PAUSE_S = 5 };

static void on_pause(struct timer *timer)
{
        struct heap_trim *trim = container_of(timer, struct heap_trim, timer);

        malloc_trim(0);
        loop_timer_set(trim->loop, timer, PAUSE_S * NS_PER_S);
}

void heap_trim_start(struct loop *loop, struct heap_trim *trim)
{
        trim->loop = loop;
        trim->timer.on_due = on_pause;
        loop_timer_set(loop, &trim->timer, PAUSE_S * NS_PER_S);
}

void heap_trim_stop(struct heap_trim *trim)
{
        loop_timer_clear(trim->loop, &trim->timer);
}
