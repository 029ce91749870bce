/* SPDX-License-Identifier: Apache-2.0 */
/* libc_symbol: functions of the C library, found without a look-up function. */
#pragma once

#include <stdbool.h>

/* The address of a function in libc.so.6 or libdl.so.2, read from their symbol tables: no look-up
 * function is called, so it works inside one, at any time. NULL: not there. */
void *libc_symbol(const char *name);
/* Is it one of these two? */
bool libc_symbol_is_in(const char *soname);
