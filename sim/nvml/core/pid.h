/* SPDX-License-Identifier: Apache-2.0 */
/* pid: the number under which a process is listed: the one by which the caller knows it, as the open
 * kernel modules do; or, where VGPU_SIM_PROC names the host's /proc, the host's, as the closed ones. */
#pragma once

#include "machine.h"

/* 0: the caller cannot see that process (it is in another container, or the host). */
unsigned pid_of(const struct machine_slot *slot);
