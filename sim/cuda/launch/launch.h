/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: a kernel with its dimensions and arguments, and how it becomes work. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "function.h"
#include "work.h"

enum { LAUNCH_PARAMS_INLINE = 4096 };

struct launch {
        struct function *function;
        unsigned grid[3], block[3];
        unsigned cluster[3];   /* 0: no clusters */
        unsigned shared_bytes; /* dynamic */
        bool is_cooperative;
        const void *params; /* laid out as function->parameters; the caller's */
        size_t params_size;
};

/* Storage for arguments that a caller gives one by one. */
struct launch_buffer {
        void *large; /* heap, when they do not fit */
        _Alignas(16) unsigned char bytes[LAUNCH_PARAMS_INLINE];
};

/* Takes the arguments as cuLaunchKernel has them. launch->function is set before; launch->params
 * points into `buffer` or into the caller's `extra` buffer. */
CUresult launch_set_params(struct launch *launch, void **params, void **extra,
                           struct launch_buffer *buffer);
static inline void launch_buffer_init(struct launch_buffer *buffer)
{
        buffer->large = NULL;
}
void launch_buffer_done(struct launch_buffer *buffer);

/* The error a launch of these dimensions on this context's device must return. */
CUresult launch_check(const struct context *context, const struct launch *launch);

/* Adds a checked launch to the stream. The arguments are copied if they are needed later. */
CUresult launch_submit(struct stream *stream, const struct launch *launch, struct mark *ret_mark);

/* Part of launch_submit (launch_run.c): the work of a kernel that computes. Its closure is new. */
CUresult launch_interpret(struct context *context, const struct launch *launch,
                          struct work *ret_work);
/* Kernel's time by the model, with the machine's noise. */
uint64_t launch_duration_ns(struct context *context, const struct launch *launch);
unsigned launch_sm_count(const struct context *context);
/* Says once per kernel why it only takes time, and counts the launch. */
void launch_timed_only(struct function *function, const char *reason);
