/* SPDX-License-Identifier: Apache-2.0 */
/* late_wakes: preloaded, it lets every sleep of a process end one to two milliseconds late, as on a host
 * whose cores are busy. What did not sleep is not held up. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

enum { ARGUMENTS = 6, FUTEX_WAITV = 449 };
#define SLEPT_NS (3 * NS_PER_US)

#define EXPORT __attribute__((visibility("default")))

typedef long syscall_fn(long, ...);
typedef int clock_nanosleep_fn(clockid_t, int, const struct timespec *, struct timespec *);

static clock_nanosleep_fn *real_sleep(void)
{
        return (clock_nanosleep_fn *)dlsym(RTLD_NEXT, "clock_nanosleep");
}

static void wake_late(uint64_t since_ns)
{
        const uint64_t now_ns = clock_now_ns();
        const struct timespec late = { .tv_nsec = (long)(NS_PER_MS + now_ns / 128 % 1000 * 1000) };
        const int saved_errno = errno;

        if (now_ns - since_ns >= SLEPT_NS)
                real_sleep()(CLOCK_MONOTONIC, 0, &late, NULL);
        errno = saved_errno;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span,
                           struct timespec *ret_left)
{
        const uint64_t begin_ns = clock_now_ns();
        const int r = real_sleep()(clock, flags, span, ret_left);

        wake_late(begin_ns);
        return r;
}

EXPORT int nanosleep(const struct timespec *span, struct timespec *ret_left)
{
        const int r = clock_nanosleep(CLOCK_MONOTONIC, 0, span, ret_left);

        if (r)
                errno = r;
        return r ? -1 : 0;
}

static int is_wait(long number, long operation)
{
        const long futex = operation & FUTEX_CMD_MASK;

        return number == FUTEX_WAITV ||
               (number == SYS_futex && (futex == FUTEX_WAIT || futex == FUTEX_WAIT_BITSET));
}

EXPORT long syscall(long number, ...)
{
        const uint64_t begin_ns = clock_now_ns();
        long a[ARGUMENTS];
        va_list arguments;

        va_start(arguments, number);
        for (unsigned i = 0; i < ARGUMENTS; i++)
                a[i] = va_arg(arguments, long);
        va_end(arguments);
        const long r = ((syscall_fn *)dlsym(RTLD_NEXT, "syscall"))(number, a[0], a[1], a[2], a[3],
                                                                   a[4], a[5]);
        if (is_wait(number, a[1]))
                wake_late(begin_ns);
        return r;
}
