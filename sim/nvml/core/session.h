/* SPDX-License-Identifier: Apache-2.0 */
/* session: the machine behind this library, from the first nvmlInit to the last nvmlShutdown. */
#pragma once

#include "machine.h"
#include "sim_nvml.h"

/* Counted: each open needs its close. */
nvmlReturn_t session_open(void);
nvmlReturn_t session_close(void);

/* Valid while the session is open. */
struct machine *session_machine(void);

/* A negative errno as NVML says it. */
nvmlReturn_t session_result(int error);
