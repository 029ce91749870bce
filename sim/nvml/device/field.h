/* SPDX-License-Identifier: Apache-2.0 */
/* field: the numbered readings of nvmlDeviceGetFieldValues. */
#pragma once

#include "target.h"

/* NVML_ERROR_NOT_SUPPORTED: this GPU has no such reading. */
nvmlReturn_t field_read(const struct target *target, unsigned id, unsigned scope,
                        nvmlValue_t *ret_value, nvmlValueType_t *ret_type);
