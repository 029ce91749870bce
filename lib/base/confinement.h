/* SPDX-License-Identifier: Apache-2.0 */
/* confinement: what a daemon keeps once it has started: a few capabilities, and the system calls of its tables. Whoever
 * takes the daemon over has no more than that. It is the same under systemd, in a container and by hand. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "err.h"

enum call_test {
        CALL_ALWAYS,
        CALL_EQUAL,   /* if the argument is the value */
        CALL_WITH,    /* if the argument has one of the bits */
        CALL_WITHOUT, /* if it has none of them */
};

/* A system call that is allowed. Of several rows with one number, in whichever table, one that holds is enough. */
struct call_row {
        int number; /* < 0 ends a table */
        enum call_test test;
        unsigned argument; /* from 0 on */
        uint32_t value;    /* compared with the lower half of the argument */
};

#define CALL(name)                            \
        {                                     \
                SYS_##name, CALL_ALWAYS, 0, 0 \
        }
#define CALL_IF(name, how, n, of)                         \
        {                                                 \
                SYS_##name, CALL_##how, n, (uint32_t)(of) \
        }
#define CALL_END                      \
        {                             \
                -1, CALL_ALWAYS, 0, 0 \
        }

struct confinement {
        const struct call_row *const *tables; /* ends with NULL */
        uint64_t capabilities; /* 1 << CAP_…: those that stay, of those that are there */
};

/* For good, for this process and what it becomes. To be called while there is one thread: capabilities are each thread's
 * own. A call that no row names fails with ENOSYS, one whose arguments no row takes with EPERM; a call in the way of
 * another architecture ends the process. < 0: the sentence is in e, and part of it may have been given up. */
int confinement_enter(const struct confinement *confinement, struct err *e);

struct sock_filter;

/* The filter of these tables, as the kernel reads it: how many instructions, at most `most`; 0: too many. */
size_t confinement_filter(const struct call_row *const *tables, struct sock_filter *ret_filter,
                          size_t most);
