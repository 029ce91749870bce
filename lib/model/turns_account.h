/* What a turn costs: virtual time, balance, and the memory that changes hands with it. turns.c's. */
#pragma once

#include "turns.h"

/* Moves the clock on: balances fill up, waits are counted, and whether all resident sets fit. */
void account_pass_time(struct turns *turns, uint64_t now_ns);

/* From here on what it uses is this turn's. */
void account_begin(struct turns *turns, struct turns_tenant *tenant);
/* Charges what it used since the last time. May be repeated. */
void account_settle(struct turns *turns, struct turns_tenant *tenant);

/* Time that `tenant` may use before its virtual time is that of `other`; 0: it is ahead. */
uint64_t account_behind_ns(const struct turns_tenant *tenant, const struct turns_tenant *other);
/* How long until a negative balance is paid. */
uint64_t account_pay_ns(const struct turns_tenant *tenant);

/* A quantum so long that swapping stays a small part of all time. */
uint64_t account_crowded_quantum_ns(uint64_t swap_ns);
