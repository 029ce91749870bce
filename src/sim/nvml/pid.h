/* pid: the number by which the caller knows a process that may live in another pid namespace. */
#pragma once

#include "machine.h"

/* 0: the caller cannot see that process (it is in another container, or the host). */
unsigned pid_of(const struct machine_slot *slot);
