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
                   CASE(a_zombie_is_dead_and_errno_stays),
                   CASE(a_process_whose_first_thread_has_ended_is_alive));
}
