/* SPDX-License-Identifier: Apache-2.0 */
/* guest: a process under libvgpu.so (preloaded by the test's environment) with a limit of its own. */
#pragma once

#include "cuda_prototypes.h"
#include "sim.h"

#define MIB (UINT64_C(1) << 20)

/* A machine of `gpus` GPUs of 1 GiB, contexts of this size, and a fresh region. */
void guest_machine_with(unsigned gpus, uint64_t context_bytes);
void guest_machine(unsigned gpus); /* without context overhead */
/* Sets the environment's limit (NULL: none), initialises CUDA and makes a context on device 0. */
void guest_start(const char *limit);
/* What the GPU itself says is used. */
uint64_t guest_device_bytes(unsigned gpu);
/* Somebody else takes this much of it. */
void guest_device_taken(unsigned gpu, uint64_t bytes);
/* What the container's ledger says is held on device 0: total − free of cuMemGetInfo. */
uint64_t guest_held(void);
/* Of this, what the ledger says lies on the host. The remainder may shrink to what the driver holds. */
uint64_t guest_virtual(void);
/* The charges are what the GPU shows, and not more than the limit. */
void guest_check_charges(uint64_t limit_bytes);

/* Another process of the container, made before this one starts CUDA. */
void guest_neighbour(void);
/* Can it have this much now? It gives it back at once. */
CUresult guest_neighbour_gets(uint64_t bytes);

/* A process of the container that holds so much of device 0 until it is killed; made before this one starts CUDA. */
pid_t guest_holder(uint64_t bytes);

/* What was written to standard error meanwhile. Until the next call. */
const char *guest_said(void (*act)(void));
