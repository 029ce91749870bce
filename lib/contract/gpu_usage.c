/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_usage: the driver's figure; the region's where both agree; what died is given from the remainder. */
#include "gpu_usage.h"

/* A whole percent is off by half of one; what a region has of the last second, by a little of it. */
#define ROUNDED_OFF 0.5
#define WINDOW_OFF  0.5
/* The GPU's own figure is not of exactly the time that its processes' are. */
#define BUSY_OFF 1.0
/* Of a process that was killed a region may not have the last piece of work: so much of what it has. */
#define KILLED_OFF 0.25

static double more_than(double a, double b)
{
        return a > b ? a - b : 0;
}

static double apart(double a, double b)
{
        return a > b ? a - b : b - a;
}

static bool is_unmeasured(const struct gpu_usage_part *part)
{
        return part->is_unlimited && part->own <= 0;
}

/* The region's is the finer one where the driver's says the same. */
static bool is_agreed(const struct gpu_usage_part *part)
{
        const double slack = part->rounded ? part->rounded * ROUNDED_OFF + WINDOW_OFF : 0;

        return !is_unmeasured(part) && apart(part->own, part->told) <= slack;
}

/* … as far as rounding leaves it open. */
static double agreed(const struct gpu_usage_part *part)
{
        const double off = part->rounded * ROUNDED_OFF;

        if (part->own > part->told + off)
                return part->told + off;
        return part->own < part->told - off ? part->told - off : part->own;
}

static double used_sum(const struct gpu_usage_part *parts, size_t count)
{
        double sum = 0;

        for (size_t i = 0; i < count; i++)
                sum += parts[i].used;
        return sum;
}

/* Shares out as much of what is left as these want, in proportion. */
static double give(double left, struct gpu_usage_part *parts, size_t count,
                   double wants(const struct gpu_usage_part *part))
{
        double wanted = 0;

        for (size_t i = 0; i < count; i++)
                wanted += wants(&parts[i]);
        if (wanted <= 0 || left <= 0)
                return left;
        const double ratio = wanted > left ? left / wanted : 1;
        for (size_t i = 0; i < count; i++)
                parts[i].used += ratio * wants(&parts[i]);
        return left - ratio * wanted;
}

static double ended_wants(const struct gpu_usage_part *part)
{
        return part->has_ended ? more_than(part->own, part->used) : 0;
}

static double silent_wants(const struct gpu_usage_part *part)
{
        return part->has_ended && part->is_unlimited ? 100 : 0;
}

static double killed_wants(const struct gpu_usage_part *part)
{
        return part->has_ended ? more_than((1 + KILLED_OFF) * part->own, part->used) : 0;
}

/* Time that the driver has no living process for was that of processes which have ended since: of shares that
 * say they used more, then of shares that cannot say. A little of it is of the killed. */
static void ended_give(const struct gpu_usage *gpu, struct gpu_usage_part *parts, size_t count)
{
        const double whole = gpu->is_busy_told ? gpu->busy : 100;
        double left = more_than(whole, used_sum(parts, count) + gpu->outside);

        left = give(left, parts, count, ended_wants);
        if (gpu->is_busy_told && left > BUSY_OFF)
                left = give(left, parts, count, silent_wants);
        if (gpu->is_busy_told && left > BUSY_OFF)
                give(left, parts, count, killed_wants);
}

/* What then is left was that of programs without a share which have ended. */
static void outside_give(struct gpu_usage *gpu, const struct gpu_usage_part *parts, size_t count)
{
        unsigned rounded = gpu->rounded;

        for (size_t i = 0; i < count; i++)
                rounded += parts[i].rounded;
        const double left = more_than(gpu->busy, used_sum(parts, count) + gpu->outside);

        if (gpu->is_busy_told && left > BUSY_OFF + rounded * ROUNDED_OFF)
                gpu->outside += left;
}

/* Whole percents of many processes add up to another sum than the GPU's own figure: each is off by a part of that, as
 * far as rounding explains it (one that works at all has at least 1). */
static double correction(const struct gpu_usage *gpu, const struct gpu_usage_part *parts,
                         size_t count)
{
        unsigned rounded = gpu->rounded;

        for (size_t i = 0; i < count; i++) {
                if (parts[i].has_ended)
                        return 0;
                rounded += is_agreed(&parts[i]) ? 0 : parts[i].rounded;
        }
        const double off = gpu->busy - used_sum(parts, count) - gpu->outside;

        if (!gpu->is_busy_told || !rounded || off > rounded * ROUNDED_OFF || off < -1.0 * rounded)
                return 0;
        return off / rounded;
}

static void told_split(struct gpu_usage *gpu, struct gpu_usage_part *parts, size_t count)
{
        for (size_t i = 0; i < count; i++)
                parts[i].used = is_agreed(&parts[i]) ? agreed(&parts[i]) : parts[i].told;
        const double more = correction(gpu, parts, count);

        for (size_t i = 0; i < count; i++)
                if (!is_agreed(&parts[i]))
                        parts[i].used = more_than(parts[i].told, -more * parts[i].rounded);
        gpu->outside = more_than(gpu->outside, -more * gpu->rounded);
        ended_give(gpu, parts, count);
        outside_give(gpu, parts, count);
}

void gpu_usage_split(struct gpu_usage *gpu, struct gpu_usage_part *parts, size_t count)
{
        if (gpu->is_told) {
                told_split(gpu, parts, count);
        } else {
                for (size_t i = 0; i < count; i++)
                        parts[i].used = parts[i].own;
                gpu->outside = 0;
        }
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
