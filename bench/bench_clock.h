/* SPDX-License-Identifier: Apache-2.0 */
/* bench_clock: medians, shared by the measuring programs. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

static inline int bench_compare(const void *a, const void *b)
{
        const double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static inline double bench_median(double *results, unsigned count)
{
        qsort(results, count, sizeof results[0], bench_compare);
        return results[count / 2];
}
