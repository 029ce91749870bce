/* SPDX-License-Identifier: Apache-2.0 */
/* What vgpu-scheduler keeps once it serves. */
#include "scheduler_calls.h"

#include "daemon_calls.h"

static const struct call_row *const tables[] = { daemon_calls, NULL };

const struct confinement scheduler_confinement = { .tables = tables };
