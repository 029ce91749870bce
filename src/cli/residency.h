/* What of a process is on a GPU now, as the driver says itself. An account knows what may be there:
 * managed memory comes and goes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The driver is the process's own: a simulated machine if its environment names one. False: it cannot
 * be asked, or does not know the process. */
bool residency_bytes(pid_t pid, const char *uuid, uint64_t *ret_bytes);
