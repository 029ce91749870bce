/* SPDX-License-Identifier: Apache-2.0 */
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

/* Is there anything to limit or to charge? False: the library stays out of the way. */
bool limits_are_set(void);

/* Has some variable a device's number? Then limits_check() is to be asked with all devices there are.
 * -ENODEV: a limit would hold nobody; the program gets no GPU. */
bool limits_are_numbered(void);
struct limits_gpu;
int limits_check(const struct limits_gpu *gpus, unsigned count, struct err *e);
/* The program gets no GPU: from now on the memory gate refuses whatever was to be counted. */
void limits_refuse(void);
bool limits_are_refused(void);

/* The device index: its position in the share; or, by environment, `position` (the one in
 * NVML's order). −1: the share does not name it. */
int limits_device_index(const char *uuid, unsigned position);
/* The same of a device that is a part of a GPU, or a GPU itself: its own index, else the GPU's. */
int limits_device_index_within(const char *uuid, const char *gpu_uuid, unsigned position);
unsigned limits_device_count(void);
const char *limits_region_path(void);
/* Is the region there that the share was given? -EUCLEAN: it was deleted, or replaced. */
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

/* What the device may hold now. UINT64_MAX: no limit. */
uint64_t limits_bytes(unsigned device_index);
/* Who sets that: a variable's name, or "the share's"; "": nobody does. */
void limits_memory_name(unsigned device_index, char ret_name[64]);
/* Of these, on the device itself. */
uint64_t limits_physical_bytes(unsigned device_index);
/* What it may hold on the host instead: the remainder of the limit, and what it is oversold beyond it. 0:
 * there is no virtual memory. */
uint64_t limits_virtual_bytes(unsigned device_index);
/* The GPU's size, the first time it is told: what a device with virtual memory may have on the GPU,
 * and what an oversold one may have on the host, where nobody said how much. */
void limits_device_size(unsigned device_index, uint64_t bytes);
/* All three at once. */
struct limits_memory {
        uint64_t bytes, physical_bytes, virtual_bytes;
};
struct limits_memory limits_memory(unsigned device_index);

bool limits_context_is_exempt(unsigned device_index);
