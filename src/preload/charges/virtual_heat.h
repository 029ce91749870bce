/* SPDX-License-Identifier: Apache-2.0 */
/* virtual_heat: virtual memory that kernels use often comes onto the GPU, and what they use seldom gives way.
 *
 * Which memory a kernel uses is known by the addresses among its parameters. Only programs that have memory on the
 * host pay for looking. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload_cuda.h"

extern _Atomic bool virtual_heat_switch;
/* Has the program memory on the host that may move? Read on every launch. */
static inline bool virtual_heat_is_on(void)
{
        return __builtin_expect(atomic_load_explicit(&virtual_heat_switch, memory_order_relaxed),
                                0);
}
/* From now on. */
void virtual_heat_start(void);

/* What a launch uses, and should move. */
enum { VIRTUAL_HEAT_MOST = 8 };
struct virtual_heat {
        uint64_t addresses[VIRTUAL_HEAT_MOST];
        unsigned count;
};
/* Before a launch: counts what it uses. True: some of that should move, by virtual_heat_move(). */
bool virtual_heat_note(CUstream stream, CUfunction kernel, void **params, void **extra,
                       struct virtual_heat *ret_heat);
/* The same of a graph: it uses what kernels used that were captured so far, into whichever. */
bool virtual_heat_note_graph(CUstream stream, struct virtual_heat *ret_heat);
/* Moves it in the order of the stream: first what gives way. One exchange at a time: while one is under way, on this
 * or another stream, nothing moves. */
void virtual_heat_move(const struct virtual_heat *heat, CUstream stream);
/* Between the two no range trades places: one that is taken out is not moved any more, so that nothing happens to
 * what comes to its address. */
void virtual_heat_hold(void);
void virtual_heat_release(void);
/* Before a context ends. */
void virtual_heat_context_ends(uint64_t context);
/* In a forked child. */
void virtual_heat_forked(void);
