/* SPDX-License-Identifier: Apache-2.0 */
/* reset: what `nvidia-smi --gpu-reset` asks of the private table. */
#pragma once

#include "target.h"

struct reset_group;

/* The GPUs that must be reset together with these; here, just these. */
nvmlReturn_t reset_group_new(struct reset_group **ret_group, const nvmlDevice_t *devices,
                             unsigned count, unsigned flags);
/* Their addresses on the bus; each name holds 32 bytes. */
nvmlReturn_t reset_group_names(const struct reset_group *group, char **names, unsigned *ret_count);
nvmlReturn_t reset_group_free(struct reset_group *group);

/* True where a fabric manager owns the switches; then they are reset too. */
nvmlReturn_t reset_is_fabric_managed(unsigned *ret_is_managed);

/* Pending modes take effect, counters and settings start anew. A GPU in use is refused. */
nvmlReturn_t reset_gpus(unsigned count, const nvmlDevice_t *devices, nvmlReturn_t *ret_results,
                        unsigned *ret_has_switches);
