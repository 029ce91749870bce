/* Settings of a container by environment: our names and those of the systems users come from. One
 * row per setting, read by every program. */
#pragma once

#include "err.h"

enum setting {
        SETTING_MEMORY_LIMIT,         /* size */
        SETTING_MEMORY_RATIO,         /* ≥ 1 */
        SETTING_MEMORY_OVERSOLD,      /* yes or no */
        SETTING_OVERSOLD_HOST_MEMORY, /* size */
        SETTING_CONTEXT_MEMORY,       /* count, exempt */
        SETTING_CORES,                /* percent */
        SETTING_CORES_MAX,            /* percent */
        SETTING_CORES_POLICY,
        SETTING_PRIORITY,
        SETTING_DEVICES, /* UUIDs */
        SETTING_REGION,  /* path */
        SETTING_COMPATIBILITY,
        SETTING_LOG,
        SETTING_COUNT,
};

/* The value of a setting for the device at this position (−1: not of a device), and the name under
 * which it was found. NULL: not set. A name with the device's number beats one without; among those,
 * ours beats the others. */
const char *setting_get(enum setting setting, int device, char name[64]);

/* The first of its names: for messages and documentation. */
const char *setting_name(enum setting setting);
