/* SPDX-License-Identifier: Apache-2.0 */
/* judge: does a load keep to its limit? By the simulated GPU's own busy time, never by what libvgpu counted. */
#pragma once

#include "worker.h"

/* A window behind a warm-up, in which what an idle container has saved is used. */
enum { JUDGE_WARM_MS = 200, JUDGE_RUN_MS = 700 };

/* The load that `measure` returns, in percent, is within 2 points of the limit. It is measured again, twice at most,
 * where the host was busy meanwhile, which makes it smaller, never larger. If it is too small each time, and the host
 * was busy each time, half of the limit is enough. */
void judge_limit(double limit, double (*measure)(void *closure), void *closure);

/* The same of a round that is repeated, by GPU 0. */
void judge_rounds(double limit, struct worker *worker, void (*round)(struct worker *worker),
                  unsigned ms);
