/* Limits: what the container may have, from its share file, else from the environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "share_layout.h"

/* Reads the share or the environment. -EINVAL: a value is wrong (the sentence says which and what
 * would be right): the program gets no GPU. Once per process. */
int limits_start(struct err *e);

/* Is there anything to limit or to account for? False: the library stays out of the way. */
bool limits_are_set(void);

/* The account of the device: its place in the share; or, by environment, `position` (its place in
 * NVML's order). −1: the share does not name it. */
int limits_account(const char *uuid, unsigned position);
unsigned limits_device_count(void);
const char *limits_region_path(void);
/* Is the account there that the share was given? -EUCLEAN: it was deleted, or another is in its place. */
int limits_region_check(struct err *e);
/* NULL: there is no share. */
const char *limits_share_path(void);
/* The socket of the node's agent; NULL or "": none. */
const char *limits_registry(void);

/* enum setting_compatibility, as the share says, else the environment; −1: to be detected. */
int limits_compatibility(void);
/* Whose container this is, as the share says, else the environment; "" where nobody does. */
const char *limits_pod_uid(void);
const char *limits_pod_namespace(void);
const char *limits_pod_name(void);
const char *limits_container(void);

/* What the account may hold now. UINT64_MAX: no limit. */
uint64_t limits_bytes(unsigned account);
/* Of these, on the device itself. */
uint64_t limits_physical_bytes(unsigned account);
/* What it may hold on the host instead: the rest of the limit, and what it is oversold beyond it. 0:
 * there is no virtual memory. */
uint64_t limits_virtual_bytes(unsigned account);
/* The card's size, the first time it is told: what a device with virtual memory may have on the card,
 * and what an oversold one may have on the host, where nobody said how much. */
void limits_card(unsigned account, uint64_t bytes);
/* All three at once. */
struct limits_memory {
        uint64_t bytes, physical_bytes, virtual_bytes;
};
struct limits_memory limits_memory(unsigned account);

bool limits_context_is_exempt(unsigned account);

/* The account's row as it is now; NULL: it has none. */
const struct share_device *limits_device(unsigned account);
