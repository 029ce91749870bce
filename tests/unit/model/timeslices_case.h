/* SPDX-License-Identifier: Apache-2.0 */
/* Two tenants, what they say, and the steps of the arbiter: for the tests of timeslices. */
#pragma once

#include "clock.h"
#include "timeslices.h"
#include "unit.h"

#define MS NS_PER_MS
#define US NS_PER_US

static const struct timeslices_limits any = { .weight = 100 };
static const struct timeslices_report idle = { 0 };
static const struct timeslices_report waiting = { .wants = true };
static const struct timeslices_report active = { .wants = true,
                                                 .is_active = true,
                                                 .has_begun = true };

static struct timeslices timeslices;

/* A step that changed something is followed by another at the same time: the arbiter reads again. */
static inline uint64_t settle(uint64_t now_ns)
{
        timeslices_step(&timeslices, now_ns);
        timeslices_step(&timeslices, now_ns);
        return timeslices_step(&timeslices, now_ns);
}

static inline void say(int tenant, struct timeslices_report report)
{
        timeslices_report(&timeslices, tenant, &report);
}

static inline bool is_open(int tenant)
{
        return timeslices_grant(&timeslices, tenant).is_open;
}

/* Active, with a sign of life. */
static inline void say_alive(int tenant)
{
        struct timeslices_report report = active;

        report.signs = timeslices.tenants[tenant].report.signs + 1;
        say(tenant, report);
}

static inline void two_tenants(int *a, int *b)
{
        timeslices_init(&timeslices, 0);
        *a = timeslices_add(&timeslices, &any, false, 0);
        *b = timeslices_add(&timeslices, &any, false, 0);
}
