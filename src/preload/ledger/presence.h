/* SPDX-License-Identifier: Apache-2.0 */
/* presence: which threads are between a charge and its settlement, so that one who wants to compare
 * the charges with the driver's own figure can wait until nobody is. */
#pragma once

#include <stdbool.h>

/* Before the first of the calls below, and again in a forked child. */
void presence_start(void);

/* Around a driver call that changes what is held. Costs a few nanoseconds; waits while somebody
 * measures. */
void presence_enter(void);
void presence_leave(void);

/* Alone: returns when no other thread is inside, and keeps them out. */
void presence_lock(void);
/* The same for one who can do without: false, somebody is inside now, perhaps for long. */
bool presence_try_lock(void);
void presence_unlock(void);

/* In a forked child: nobody is inside but threads that it does not have. */
void presence_clear(void);
