/* Memory, pools and events that one process offers to others. */
#pragma once

#include <stdint.h>

#include "machine.h"

/* Takes back all that the slot's process offered. May be called again after a crash. */
void export_reap(struct machine *machine, uint32_t slot);
