/* SPDX-License-Identifier: Apache-2.0 */
/* What vgpu-webhook keeps once it serves. */
#include "webhook_calls.h"

#include "daemon_calls.h"

static const struct call_row *const tables[] = { daemon_calls, NULL };

const struct confinement webhook_confinement = { .tables = tables };
