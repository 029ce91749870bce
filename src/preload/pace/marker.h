/* SPDX-License-Identifier: Apache-2.0 */
/* marker: events of ours in a context, and what they say in the host's time. The caller serialises
 * the calls for one device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload_cuda.h"

struct marker_pool;

/* The context's pool, made on first use. NULL: too many contexts. */
struct marker_pool *marker_pool_of(uint64_t context, unsigned device_index);
/* The device index of a context that has a pool; −1: it has none. */
int marker_device_index(uint64_t context);
/* The context is gone, and its events with it. */
void marker_pool_gone(uint64_t context);

/* An event that nobody uses, made in the context if there is none. NULL: the driver refuses. */
CUevent marker_take(struct marker_pool *pool);
void marker_give(struct marker_pool *pool, CUevent event);

/* When the device came to an event (it has), in the host's time. That cannot have been before the
 * event was recorded (0: not known), nor after it was seen: each pair tells more of how far the two
 * clocks are apart. False: it cannot be told. */
bool marker_time_ns(struct marker_pool *pool, CUevent event, uint64_t recorded_ns, uint64_t seen_ns,
                    uint64_t *ret_ns);
/* Times are told from this event on, which has passed and is the pool's now. The nearer it is, the
 * more exact they are. */
void marker_refer(struct marker_pool *pool, CUevent event);
/* An event was put on an idle stream at this time; when that last was, 0: never. Each context has clocks
 * of its own. */
void marker_is_compared(struct marker_pool *pool, uint64_t now_ns);
uint64_t marker_compared_ns(const struct marker_pool *pool);
/* Is there such an event? */
bool marker_is_ready(const struct marker_pool *pool);

/* In a forked child, whose parent's events are not its own. */
void marker_forked(void);
