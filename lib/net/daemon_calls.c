/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that all daemons need. tests/node/calls.py runs them under strace and finds rows that nobody uses. */
#include "daemon_calls.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

const struct call_row daemon_calls[] = {
        /* the loop */
        CALL(epoll_ctl),
#ifdef __x86_64__ /* arm64 has the newer forms alone */
        CALL(epoll_wait),
#else
        CALL(epoll_pwait),
#endif
        CALL(read),
        CALL(write),
        CALL(close),
        /* sockets */
        CALL_IF(socket, EQUAL, 0, AF_INET),
        CALL_IF(socket, EQUAL, 0, AF_INET6),
        CALL(bind),
        CALL(listen),
        CALL(accept4),
        CALL(connect),
        CALL(getsockname),
        CALL(getsockopt),
        CALL(setsockopt),
        CALL(sendto),
        CALL(recvfrom),
        CALL(sendmsg),
        /* files that are read anew: certificates, tokens */
        CALL_IF(openat, WITHOUT, 2, O_ACCMODE | O_CREAT | O_TRUNC),
        CALL(fstat),
        CALL(newfstatat),
        CALL(lseek),
        /* memory; none of it may be run */
        CALL(brk),
        CALL_IF(mmap, WITHOUT, 2, PROT_EXEC),
        CALL(munmap),
        CALL(mremap),
        CALL(madvise),
        /* the C library and TLS: clocks where the vDSO has none, locks, chance, and an end */
        CALL(clock_gettime),
        CALL(clock_nanosleep),
        CALL(futex),
        CALL(getpid),
        CALL(getrandom),
        CALL(restart_syscall),
        CALL(rt_sigprocmask),
        CALL(rt_sigreturn),
        CALL(exit_group),
        /* abort(), and what the C library says before it */
        CALL(writev),
        CALL(gettid),
        CALL(rt_sigaction),
        CALL_IF(tgkill, EQUAL, 2, SIGABRT),
        CALL_END,
};
