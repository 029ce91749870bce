/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of this process: addresses, contents, and what they cost on the GPU. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lookup.h"

/* Plain device memory for the driver's own use too (module variables). */
CUresult memory_alloc(struct context *context, size_t bytes, enum memory_kind kind,
                      CUdeviceptr *ret_address);
CUresult memory_free(CUdeviceptr address);

/* Contents for the interpreter and for copies: the host pointer for [address, address+length) and
 * the bounds of the valid range around it; NULL: illegal address. Signature of ptx_memory.resolve;
 * the closure is the struct context that runs. Host, registered and managed memory resolve too. */
void *memory_resolve(void *context, uint64_t address, size_t length, bool is_write,
                     uint64_t *ret_low, uint64_t *ret_high);

/* The context goes: what it has allocated is freed. */
void memory_context_done(struct context *context);
