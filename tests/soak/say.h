/* SPDX-License-Identifier: Apache-2.0 */
/* say: TAP lines of a program that is many processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Before the first process is made. */
void say_open(void);
void say(bool is_good, const char *format, ...) __attribute__((format(printf, 2, 3)));
unsigned say_failed(void);
/* The closing line; the program's exit status. */
int say_close(bool is_tap);

/* Memory that the processes of a run share, all zero. */
void *say_map(size_t bytes);
