/* SPDX-License-Identifier: Apache-2.0 */
/* How long a time slice is, and who waits for one. timeslices.c's. */
#pragma once

#include "timeslices.h"

/* Waits for a time slice; may have to wait for its balance first. */
static inline bool timeslice_tenant_waits(const struct timeslices_tenant *tenant)
{
        return tenant->state == TIMESLICES_OUT && tenant->report.wants && !tenant->is_deaf;
}

static inline bool timeslice_tenant_is_due(const struct timeslices_tenant *tenant)
{
        return timeslice_tenant_waits(tenant) && tenant->balance_ns >= 0;
}

/* Is anybody at work whose waits are to be short? */
bool timeslice_latency_is_present(const struct timeslices *timeslices);

/* The holder's time slice, where `next` waits for it. */
uint64_t timeslice_length_ns(const struct timeslices *timeslices,
                             const struct timeslices_tenant *holder,
                             const struct timeslices_tenant *next);

/* How long the GPU idled although this one waited. What a tenant says of it makes its own time slices
 * longer, which others have back. */
void timeslice_change_judge(const struct timeslices *timeslices, struct timeslices_tenant *holder);
