/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_usage: the driver's figure; the region's where both agree; what died is given from the remainder. */
#include "gpu_usage.h"

/* A whole percent is off by half of one; what a region has of the last second, by a little of it. */
#define ROUNDED_OFF 0.5
#define WINDOW_OFF  0.5

static double more_than(double a, double b)
{
        return a > b ? a - b : 0;
}

/* The region's is the finer one where the driver's says the same. */
static double agreed(const struct gpu_usage_part *part)
{
        const double slack = part->rounded ? part->rounded * ROUNDED_OFF + WINDOW_OFF : 0;
        const double apart =
                part->own > part->told ? part->own - part->told : part->told - part->own;

        return apart <= slack ? part->own : part->told;
}

static double used_sum(const struct gpu_usage_part *parts, size_t count)
{
        double sum = 0;

        for (size_t i = 0; i < count; i++)
                sum += parts[i].used;
        return sum;
}

static double ended_wants(const struct gpu_usage_part *part)
{
        return part->has_ended ? more_than(part->own, part->used) : 0;
}

/* Time that the driver has no living process for was that of processes which have ended since: of shares that
 * say they used more, in proportion. */
static void ended_give(const struct gpu_usage *gpu, struct gpu_usage_part *parts, size_t count)
{
        const double whole = gpu->is_busy_told ? gpu->busy : 100;
        const double left = more_than(whole, used_sum(parts, count) + gpu->outside);
        double wanted = 0;

        for (size_t i = 0; i < count; i++)
                wanted += ended_wants(&parts[i]);
        if (wanted <= 0)
                return;
        const double part = wanted > left ? left / wanted : 1;
        for (size_t i = 0; i < count; i++)
                parts[i].used += part * ended_wants(&parts[i]);
}

void gpu_usage_split(struct gpu_usage *gpu, struct gpu_usage_part *parts, size_t count)
{
        for (size_t i = 0; i < count; i++)
                parts[i].used = gpu->is_told ? agreed(&parts[i]) : parts[i].own;
        if (gpu->is_told)
                ended_give(gpu, parts, count);
        else
                gpu->outside = 0;
        const double most = !gpu->is_told && gpu->is_busy_told ? gpu->busy : 100;
        const double sum = used_sum(parts, count) + gpu->outside;
        const double scale = sum > most ? most / sum : 1;

        for (size_t i = 0; i < count; i++)
                parts[i].used *= scale;
        gpu->outside *= scale;
        for (size_t i = 0; i < count; i++) {
                const double lost = more_than(parts[i].own, parts[i].used);

                parts[i].lost = lost < gpu->outside ? lost : gpu->outside;
        }
}
