/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a container by environment: our names and those of the systems users come from. One
 * row per setting, read by every program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

enum setting {
        SETTING_MEMORY_LIMIT,         /* bytes; 0: no limit */
        SETTING_MEMORY_RATIO,         /* ≥ 1 */
        SETTING_MEMORY_OVERSOLD,      /* 1 or 0 */
        SETTING_OVERSOLD_HOST_MEMORY, /* bytes */
        SETTING_CONTEXT_MEMORY,       /* 1: exempt, 0: counts */
        SETTING_CORES,                /* percent; 0: no limit */
        SETTING_CORES_MAX,            /* percent; 0: no limit */
        SETTING_CORES_POLICY,         /* enum share_policy */
        SETTING_PRIORITY,             /* 0: high, 1: low */
        SETTING_COPIES,               /* 1: count as compute, 0: exempt */
        SETTING_DEVICES, /* UUIDs, or what a container runtime has acted upon already; the last of those
                          * whose names may have a device's number */
        SETTING_REGION,        /* path */
        SETTING_COMPATIBILITY, /* enum setting_compatibility */
        SETTING_LOG,           /* a set of log levels: 1 << enum log_level */
        SETTING_POD_NAME,
        SETTING_POD_NAMESPACE,
        SETTING_POD_UID,
        SETTING_CONTAINER_NAME,
        SETTING_COUNT,
};

/* How the container's own processes are recognised in the driver's lists. A value is a sum: the
 * hundreds and the remainder are sets of bits. */
enum setting_compatibility {
        COMPATIBILITY_HOST = 0,           /* every process on the device is ours */
        COMPATIBILITY_CGROUP_1 = 1,       /* those of our control group, version 1 */
        COMPATIBILITY_CGROUP_2 = 2,       /* the same, version 2 */
        COMPATIBILITY_OPEN_KERNEL = 100,  /* the driver speaks the pids of our own namespace */
        COMPATIBILITY_REGISTRATION = 200, /* the node's agent tells us our pid */
};

struct setting_value {
        uint64_t number;
        double ratio; /* of a setting that need not be whole */
};

/* The text of a setting for the device at this position (−1: not of a device), and the name under
 * which it was found. NULL: not set, or a list, a path or a name without a letter. A name with the device's
 * number beats one without; among those, ours beats the others. */
const char *setting_get(enum setting setting, int device, char name[64]);
/* The same under one of the setting's names (setting_alias) alone, with this number or, at −1, without. */
const char *setting_get_as(enum setting setting, unsigned number, int device, char name[64]);

/* From here on settings are read from this list of "NAME=value", which ends with NULL, as if it were the
 * environment; NULL: from the environment again. For programs that read another's; one thread. */
void setting_lend(char *const *variables);
/* Where they are read from. */
char *const *setting_variables(void);

/* What it means. 1: it is set; 0: it is not; -EINVAL: it means nothing, and the sentence has the
 * variable and what would be right. */
int setting_read(enum setting setting, int device, struct setting_value *ret_value, struct err *e);
/* What this text of this variable means. */
int setting_text_read(enum setting setting, const char *name, const char *text,
                      struct setting_value *ret_value, struct err *e);

/* Is this variable of an environment, "NAME" or "NAME=value", one of the setting's, with a device's
 * number or without? */
bool setting_is_named(enum setting setting, const char *variable);

/* Whose is it, and which device's number does it have (−1: none)? False: it is nobody's. */
bool setting_find(const char *variable, enum setting *ret_setting, int *ret_device);

/* Its names, from 0 on, until NULL. The first is for documentation: a message has the name that was used. */
const char *setting_alias(enum setting setting, unsigned number);
const char *setting_name(enum setting setting);
