/* guest: a process under libvgpu.so (preloaded by the test's environment) with a limit of its own. */
#pragma once

#include "cuda_prototypes.h"
#include "sim.h"

#define MIB (UINT64_C(1) << 20)

/* A machine of `gpus` cards of 1 GiB, contexts of this size, and a fresh account. */
void guest_machine_with(unsigned gpus, uint64_t context_bytes);
void guest_machine(unsigned gpus); /* without context overhead */
/* Sets the environment's limit (NULL: none), initialises CUDA and makes a context on device 0. */
void guest_start(const char *limit);
/* What the card itself says is used. */
uint64_t guest_card_bytes(unsigned gpu);
/* Somebody else takes this much of it. */
void guest_card_taken(unsigned gpu, uint64_t bytes);
/* What the container's account says is held on device 0: total − free of cuMemGetInfo. */
uint64_t guest_held(void);
/* Of this, what the account says lies on the host. The rest may shrink to what the driver holds. */
uint64_t guest_virtual(void);
/* The account is what the card shows, and not more than the limit. */
void guest_check_account(uint64_t limit_bytes);

/* Another process of the container, made before this one starts CUDA. */
void guest_neighbour(void);
/* Can it have this much now? It gives it back at once. */
CUresult guest_neighbour_gets(uint64_t bytes);
