/* SPDX-License-Identifier: Apache-2.0 */
/* The arbiter: gives the containers (tenants) of each GPU their time slices. Used by whichever process has
 * the role: one of the `vgpu run` programs of a user, or vgpu-node. It keeps its state in its own
 * memory, so that it can be killed at any moment: the next one begins anew from the pages.
 *
 *     arbiter_add(), arbiter_remove()      tenants come and go
 *     for (;;) arbiter_wait(arbiter, arbiter_step(arbiter), members_seen)
 *
 * One thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "err.h"

struct arbiter;

/* NULL: out of memory. `members` is a futex word that changes when tenants come or go: it ends a
 * wait, like the tenants' doorbells. */
struct arbiter *arbiter_new(const _Atomic uint32_t *members);
void arbiter_free(struct arbiter *arbiter);

/* Takes the tenant of this share in: its pages lie beside the share and the region (gpu_page.h). One
 * that is known stays as it is, unless its files are others now. -EUSERS: more than the
 * arbiter holds; where that is so of one GPU alone, it gets time slices on the others. */
int arbiter_add(struct arbiter *arbiter, const char *share_path, struct err *e);
void arbiter_remove(struct arbiter *arbiter, const char *share_path);
/* Removes every tenant of which `is_gone` says so. */
void arbiter_sweep(struct arbiter *arbiter, bool (*is_gone)(const char *share_path, void *user),
                   void *user);

/* Under MPS kernels of several tenants run at once: there are no time slices. */
void arbiter_set_off(struct arbiter *arbiter, bool is_off);
/* Is an MPS daemon there, as far as the environment and its usual path tell? */
bool arbiter_finds_mps(void);

/* GPU time that the driver counts for the tenant on this device beyond what the tenant says, so far: it
 * is charged as if the tenant had said it. */
void arbiter_observe(struct arbiter *arbiter, const char *share_path, unsigned device,
                     uint64_t unreported_ns);

/* Looks at what the tenants say and tells them what follows. When to do so again at the latest. */
uint64_t arbiter_step(struct arbiter *arbiter);
/* Sleeps until a tenant rings, the members' word is no longer as the caller saw it when it searched for
 * them, or that time has come. */
void arbiter_wait(struct arbiter *arbiter, uint64_t until_ns, uint32_t members_seen);
/* Before a long sleep: gives the pages of tenants' files back to the kernel. */
void arbiter_trim(struct arbiter *arbiter);
