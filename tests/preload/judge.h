/* SPDX-License-Identifier: Apache-2.0 */
/* judge: does a load keep to its limit? By the simulated GPU's own busy time, never by what libvgpu counted. */
#pragma once

#include "worker.h"

/* A window behind a warm-up, in which what an idle container has saved is used. */
enum { JUDGE_WARM_MS = 200, JUDGE_RUN_MS = 700 };

/* The load that `measure` returns is within 2 points of the limit, of a small limit within half of it.
 *
 * The programs get a CPU before others do. Where we may not ask for that, time for which they were ready and had no CPU
 * is taken off, by the kernel's own count: the limit holds for the remaining time. Where there was such time the load is
 * measured once more. */
void judge_limit(double limit, struct load (*measure)(void *closure), void *closure);

/* The same of a round that is repeated, by GPU 0. */
void judge_rounds(double limit, struct worker *worker, void (*round)(struct worker *worker),
                  unsigned ms);
