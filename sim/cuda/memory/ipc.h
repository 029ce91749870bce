/* SPDX-License-Identifier: Apache-2.0 */
/* Memory between processes: offered by handle, opened by others. */
#pragma once

#include "memory_allocation.h"

/* What a handle says, in at most 64 bytes. */
struct ipc_ticket {
        uint64_t magic;
        uint8_t machine[16];
        uint32_t index;
        uint32_t reserved;
        uint64_t number;
};

/* Offers an allocation of a heap; again: the same ticket. */
CUresult ipc_offer(struct allocation *allocation, struct ipc_ticket *ret_ticket);
/* Maps what a ticket stands for; opened again: the same address. `is_own_fine`: the exporter itself
 * may open it. */
CUresult ipc_open(struct context *context, const struct ipc_ticket *ticket, bool is_own_fine,
                  struct allocation **ret_allocation);
/* One opening less; the last one unmaps. */
void ipc_close(struct allocation *allocation);
/* The allocation is about to be freed: nobody can open it any more. */
void ipc_withdraw(struct allocation *allocation);
/* The context goes, and what it opened. */
void ipc_context_done(struct context *context);
/* The device whose memory a unit is, or NULL. */
struct device *ipc_device(uint64_t unit);
