/* SPDX-License-Identifier: Apache-2.0 */
/* What a time slice costs: virtual time, balance, and the memory that changes hands with it. timeslices.c's. */
#pragma once

#include "timeslices.h"

/* Moves the clock on: balances fill up, waits are counted, and whether all resident sets fit. */
void timeslice_cost_pass_time(struct timeslices *timeslices, uint64_t now_ns);

/* From here on what it uses is this time slice's. */
void timeslice_cost_begin(struct timeslices_tenant *tenant);
/* Charges what it used since the last time. May be repeated. */
void timeslice_cost_settle(struct timeslices *timeslices, struct timeslices_tenant *tenant);

/* It has no time slices for a while, because it does not take them up or does not end its work; and has them again.
 * Whoever used next to nothing for a second meanwhile asked for nothing: it was stopped by a signal. It is paid back no
 * more than a sleeper. */
void timeslice_cost_leave(const struct timeslices *timeslices, struct timeslices_tenant *tenant);
void timeslice_cost_return(struct timeslices *timeslices, struct timeslices_tenant *tenant);

/* Time that `tenant` may use before its virtual time is that of `other`; 0: it is ahead. */
uint64_t timeslice_cost_behind_ns(const struct timeslices_tenant *tenant,
                                  const struct timeslices_tenant *other);
/* How long until a negative balance is paid. */
uint64_t timeslice_cost_pay_ns(const struct timeslices_tenant *tenant);

/* What others can push off the GPU of the tenant's memory: what it says, and no more than is there. */
uint64_t timeslice_cost_movable_bytes(const struct timeslices *timeslices,
                                      const struct timeslices_tenant *tenant);

/* A quantum so long that swapping stays a small part of all time. */
uint64_t timeslice_cost_crowded_quantum_ns(uint64_t swap_ns);
