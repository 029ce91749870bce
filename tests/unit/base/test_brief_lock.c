/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of brief_lock: the first thread's privilege ends when a second comes, and nothing is lost. */
#include "brief_lock.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

enum { THREADS = 4, ROUNDS = 20000 };

static struct brief_lock lock;
static unsigned long counted; /* guarded by the lock */

static void *count(void *unused)
{
        (void)unused;
        for (unsigned i = 0; i < ROUNDS; i++) {
                brief_lock_take(&lock);
                counted++;
                brief_lock_give(&lock);
        }
        return NULL;
}

/* Each round is a process of its own, as being first is for once: the second thread comes at another
 * moment of the first one's work each time. */
static int round_run(unsigned threads)
{
        pthread_t others[THREADS];

        counted = 0;
        brief_lock_forked();
        for (unsigned i = 0; i < threads; i++)
                if (pthread_create(&others[i], NULL, count, NULL) != 0)
                        return 2;
        count(NULL);
        for (unsigned i = 0; i < threads; i++)
                pthread_join(others[i], NULL);
        return counted == (unsigned long)(threads + 1) * ROUNDS ? 0 : 1;
}

static void rounds_check(unsigned rounds, unsigned threads)
{
        for (unsigned i = 0; i < rounds; i++) {
                int status = -1;
                pid_t pid = fork();
                if (pid == 0)
                        _exit(round_run(threads));
                CHECK_EQ(waitpid(pid, &status, 0), pid);
                CHECK_EQ(status, 0);
        }
}

TEST(alone_a_thread_pays_for_no_locked_instruction)
{
        brief_lock_forked();
        count(NULL);
        CHECK(brief_lock_is_first);
        CHECK_EQ(lock.is_held, 0);
        count(NULL);
        CHECK_EQ(brief_lock_alone.is_held, 0);
}

TEST(a_second_thread_may_come_at_any_moment)
{
        rounds_check(50, 1);
}

TEST(many_may_come_at_once)
{
        rounds_check(20, THREADS);
}

int main(void)
{
        return RUN(CASE(alone_a_thread_pays_for_no_locked_instruction),
                   CASE(a_second_thread_may_come_at_any_moment), CASE(many_may_come_at_once));
}
