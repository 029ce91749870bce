/* What several commands ask for alike: a share's limits, a share by name. */
#pragma once

#include <stdint.h>

#include "err.h"

/* --memory SIZE: more than 0. */
int memory_option(const char *text, uint64_t *ret_bytes, struct err *e);

/* The sentence for a share that does not exist, with the nearest one; returns EXIT_FAILED. */
int complain_unknown_share(const char *name);
