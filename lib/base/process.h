/* SPDX-License-Identifier: Apache-2.0 */
/* process: is a process there, and is it still the same one? */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* This process, also where /proc belongs to another pid namespace and getpid() names a stranger. */
enum { PROCESS_SELF = 0 };

/* When it started, in clock ticks since boot; 0: no such process, or no /proc. */
uint64_t process_start_time(pid_t pid);
/* The same in another mount of /proc, which has the pids of the namespace it was mounted in. */
uint64_t process_start_time_in(const char *proc, pid_t pid);
/* What a process that starts now has for its start. */
uint64_t process_ticks_now(void);

/* Runs, and is the one that started then (0: any). A zombie is dead: it holds nothing any more,
 * unless it has threads left. */
bool process_is_alive(pid_t pid, uint64_t start_time);

/* The base name of this process's program. */
void process_name(char *text, size_t size);
