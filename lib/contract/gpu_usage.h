/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_usage: whose the time of a GPU was, in percent of about the last second. Pure.
 *
 * Two sources, neither of which suffices. A share's region has the wall time in which the GPU had work of it:
 * fine, and too much where the driver ran somebody else meanwhile. The driver says how much of the time it ran
 * each process: true, but in whole percents, and of the living alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gpu_usage_part {    /* one share */
        double own;        /* by its region */
        double told;       /* by the driver, of its processes together */
        unsigned rounded;  /* of these figures so many are whole percents */
        bool is_unlimited; /* it has no limit that it measures for: own is nothing, or not all */
        bool has_ended; /* processes of it, meanwhile: the driver tells nothing of them any more */
        double used, lost; /* the results; lost: it had work, and the GPU did a stranger's */
};

struct gpu_usage {
        double busy; /* of the whole GPU, by the driver */
        double outside; /* by the driver, of programs without a share; after the split, of these and of all that
                         * ended and was no share's, at most what is left */
        unsigned rounded;           /* of the figures in outside so many are whole percents */
        bool is_busy_told, is_told; /* is_told: the driver tells of each process */
};

/* Sets used and lost of each part. Together they and outside are never more than the GPU's time. */
void gpu_usage_split(struct gpu_usage *gpu, struct gpu_usage_part *parts, size_t count);

/* Is used known? Where the driver tells of no process, only a share's own measure says. */
static inline bool gpu_usage_is_known(const struct gpu_usage *gpu,
                                      const struct gpu_usage_part *part)
{
        return gpu->is_told || !part->is_unlimited || part->own > 0;
}
