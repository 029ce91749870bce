/* devices: CUDA's numbers for devices, and the accounts they are charged to. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "preload_cuda.h"
#include "preload_nvml.h"

enum { DEVICES_NONE = -1 };

/* Asks the driver for its devices and opens the container's account. Once, after cuInit. 0, or a
 * negative errno: the account cannot be used. */
int devices_start(void);

int devices_count(void);
/* The account of a CUDA device; DEVICES_NONE: the share does not name it. */
int devices_account(int ordinal);
/* The current context (0: none), its device's CUDA number and account. */
struct place {
        uint64_t context;
        int ordinal;
        int account;
};
struct place devices_current(void);
/* The same of a stream's context, which need not be the current one. */
struct place devices_of_stream(CUstream stream);
/* A context has ended: its handle may come back for another device. */
void devices_context_ended(void);

/* Where the size of the card, once the driver has told it, is kept; 0: not yet. NULL: no device. */
_Atomic uint64_t *devices_total(int ordinal);

/* NVML's handle of a CUDA device; NULL: there is no NVML. Ours to keep: NVML stays initialised. */
nvmlDevice_t devices_nvml(int ordinal);
