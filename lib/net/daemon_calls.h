/* SPDX-License-Identifier: Apache-2.0 */
/* daemon_calls: the system calls of every daemon: the loop, its sockets, TLS, and the C library below them. */
#pragma once

#include "confinement.h"

extern const struct call_row daemon_calls[];
