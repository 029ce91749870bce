/* bells: one system call for all of them. */
#include "bells.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define LOOK_NS (1 * NS_PER_MS)

static bool has_changed(const struct bell *bells, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                if (atomic_load(bells[i].word) != bells[i].seen)
                        return true;
        return false;
}

/* An old kernel: nothing better without a thread for each. */
static void wait_by_looking(const struct bell *bells, unsigned count, uint64_t until_ns)
{
        while (!has_changed(bells, count) && clock_now_ns() < until_ns)
                nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
}

void bells_wait(const struct bell *bells, unsigned count, uint64_t until_ns)
{
        struct futex_waitv waits[BELLS_MOST];
        const struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
                                        .tv_nsec = (long)(until_ns % NS_PER_S) };
        const bool has_end = until_ns != UINT64_MAX;

        for (unsigned i = 0; i < count; i++)
                waits[i] = (struct futex_waitv){
                        .val = bells[i].seen,
                        .uaddr = (uint64_t)(uintptr_t)bells[i].word,
                        .flags = FUTEX_32,
                };
        if (syscall(SYS_futex_waitv, waits, count, 0, has_end ? &until : NULL, CLOCK_MONOTONIC) <
                    0 &&
            errno == ENOSYS)
                wait_by_looking(bells, count, until_ns);
}
