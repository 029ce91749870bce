/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of process: who is alive, however it ended. */
#include "process.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

TEST(this_process_is_alive_and_knows_when_it_started)
{
        uint64_t start = process_start_time(getpid());

        CHECK(start > 0);
        CHECK(process_is_alive(getpid(), start));
        CHECK(process_is_alive(getpid(), 0));
        CHECK(!process_is_alive(getpid(), start + 1)); /* another one had this number */
}

/* An emulator may make up what a process reads of itself. */
TEST(a_process_and_others_agree_on_its_start)
{
        uint64_t own = 0;
        int ends[2];

        CHECK_EQ(pipe(ends), 0);
        pid_t pid = fork();
        if (pid == 0) {
                own = process_start_time(getpid());
                if (own != process_start_time(PROCESS_SELF))
                        own = 0;
                _exit(write(ends[1], &own, sizeof own) == sizeof own && pause() ? 0 : 1);
        }
        CHECK_EQ(read(ends[0], &own, sizeof own), sizeof own);
        CHECK(own > 0);
        CHECK_EQ(process_start_time(pid), own);
        CHECK(process_is_alive(pid, own));
        kill(pid, SIGKILL);
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
        CHECK_EQ(process_start_time(pid), 0);
}

static void *start_time_read(void *ret_start)
{
        *(uint64_t *)ret_start = process_start_time(PROCESS_SELF);
        return NULL;
}

TEST(every_thread_sees_the_start_of_its_process)
{
        uint64_t start = 0;
        pthread_t other;

        usleep(30000); /* a few ticks: the thread itself is younger */
        CHECK_EQ(pthread_create(&other, NULL, start_time_read, &start), 0);
        CHECK_EQ(pthread_join(other, NULL), 0);
        CHECK_EQ(start, process_start_time(getpid()));
}

TEST(a_zombie_is_dead_and_errno_stays)
{
        siginfo_t info;
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        errno = 77;
        CHECK(!process_is_alive(pid, 0));
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
        CHECK(!process_is_alive(pid, 0));
        CHECK_EQ(errno, 77);
}

static void *wait_for(void *pid)
{
        waitpid((pid_t)(intptr_t)pid, NULL, 0);
        return NULL;
}

/* Its entry in /proc goes between two questions to the kernel. */
TEST(a_zombie_is_dead_while_its_parent_waits_for_it)
{
        enum { ROUNDS = 1500 };

        for (unsigned i = 0; i < ROUNDS; i++) {
                siginfo_t info;
                pthread_t waiter;
                pid_t pid = fork();

                if (pid == 0)
                        _exit(0);
                CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
                CHECK_EQ(pthread_create(&waiter, NULL, wait_for, (void *)(intptr_t)pid), 0);
                for (unsigned k = 0; k < 20; k++)
                        CHECK(!process_is_alive(pid, 0));
                pthread_join(waiter, NULL);
        }
}

static void *go_on(void *unused)
{
        for (;;)
                pause();
        return unused;
}

/* Go and others end their first thread and go on. */
TEST(a_process_whose_first_thread_has_ended_is_alive)
{
        int ends[2];
        char byte;

        CHECK_EQ(pipe(ends), 0);
        pid_t pid = fork();
        if (pid == 0) {
                pthread_t other;
                if (pthread_create(&other, NULL, go_on, NULL) != 0 || write(ends[1], "", 1) != 1)
                        _exit(1);
                pthread_exit(NULL);
        }
        CHECK_EQ(read(ends[0], &byte, 1), 1);
        for (unsigned i = 0; i < 100; i++) {
                CHECK(process_is_alive(pid, 0));
                usleep(500);
        }
        kill(pid, SIGKILL);
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
        CHECK(!process_is_alive(pid, 0));
}

int main(void)
{
        return RUN(CASE(this_process_is_alive_and_knows_when_it_started),
                   CASE(a_process_and_others_agree_on_its_start),
                   CASE(every_thread_sees_the_start_of_its_process),
                   CASE(a_zombie_is_dead_and_errno_stays),
                   CASE(a_zombie_is_dead_while_its_parent_waits_for_it),
                   CASE(a_process_whose_first_thread_has_ended_is_alive));
}
