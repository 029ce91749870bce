/* Mapped memory: physical handles, and addresses that they are mapped to. */
#pragma once

#include "memory.h"

/* True: the mapping lets the device use it so. */
bool vmm_allows(const struct allocation *mapping, const struct device *device, bool is_write);
