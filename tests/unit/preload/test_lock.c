/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of lock: it keeps threads apart, and nothing of it is seen. */
#include "lock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "unit.h"

enum { THREADS = 3, ROUNDS = 20000 };

static struct {
        struct lock lock;
        uint64_t count;
        _Atomic uint64_t changed; /* errno */
} shared;

static void *take_and_give(void *unused)
{
        for (unsigned i = 0; i < ROUNDS; i++) {
                errno = EXDEV;
                lock_take(&shared.lock);
                shared.count++;
                if (i % 4 == 0)
                        sched_yield(); /* others come meanwhile */
                lock_give(&shared.lock);
                if (errno != EXDEV)
                        atomic_fetch_add(&shared.changed, 1);
        }
        return unused;
}

TEST(threads_hold_the_lock_one_by_one_and_keep_their_errno)
{
        pthread_t threads[THREADS];

        for (unsigned i = 0; i < THREADS; i++)
                CHECK_EQ(pthread_create(&threads[i], NULL, take_and_give, NULL), 0);
        for (unsigned i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        CHECK_EQ(shared.count, THREADS * ROUNDS);
        CHECK_EQ(shared.changed, 0);
}

int main(void)
{
        return RUN(CASE(threads_hold_the_lock_one_by_one_and_keep_their_errno));
}
