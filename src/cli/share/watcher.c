/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher of `vgpu run`; see watcher.h. */
#include "watcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "scope.h"

enum {
        LOCK_FD_LEAST = 100, /* out of the way of programs that count on small numbers */
        USERS_POLL_MS = 100,
        FIRST_FD = 3,
        COMPANION_MS = 20,
};

int watcher_lock(const char *path)
{
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
        int kept;

        if (fd < 0 || flock(fd, LOCK_SH) < 0)
                return -errno;
        /* Not close-on-exec: that is its purpose. */
        kept = fcntl(fd, F_DUPFD, LOCK_FD_LEAST);
        if (kept < 0)
                kept = fcntl(fd, F_DUPFD, FIRST_FD);
        return kept < 0 ? -errno : kept;
}

/* ps and pgrep would otherwise find the program's name in the watcher's command line. */
static void watcher_rename(int argc, char **argv)
{
        if (argc > 0) {
                char *end = argv[argc - 1] + strlen(argv[argc - 1]);

                memset(argv[0], 0, (size_t)(end - argv[0]));
        }
        prctl(PR_SET_NAME, "vgpu-watch");
}

/* Descriptors 3 … become the watches' own. Everything else belongs to the program: above all, its
 * copies of the locks. */
static int watcher_take(const struct watch *watches, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                const int fd = open(watches[i].path, O_RDWR | O_CLOEXEC);
                /* Out of the way first: a number that is wanted may be in use by the next. */
                const int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOCK_FD_LEAST);

                if (high < 0 || dup2(high, FIRST_FD + (int)i) < 0)
                        return -1;
        }
        return close_range(FIRST_FD + (unsigned)count, ~0u, 0);
}

/* Out of the program's family, terminal, folder and files. */
static int watcher_leave(const struct watch *watches, size_t count, int argc, char **argv)
{
        const int null = open("/dev/null", O_RDWR);

        watcher_rename(argc, argv);
        setsid();
        if (null < 0 || chdir("/") < 0)
                return -1;
        for (int i = 0; i < 3; i++)
                dup2(null, i);
        if (watcher_take(watches, count) < 0)
                return -1;
        for (int number = 1; number < 32; number++)
                if (number != SIGKILL && number != SIGSTOP)
                        signal(number, SIG_DFL);
        signal(SIGHUP, SIG_IGN);
        return 0;
}

/* The lock is not kept while others are asked for: whoever joins a share must not wait for us. */
static void watch_one(const struct watch *watch, int fd)
{
        struct stat st;

        for (;;) {
                while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
                        ;
                flock(fd, LOCK_UN);
                if (fstat(fd, &st) == 0 && st.st_nlink == 0)
                        return; /* another has removed it; what has the name now is not ours */
                if (watch->remove(watch->path))
                        return;
                nanosleep(&(struct timespec){ .tv_nsec = USERS_POLL_MS * 1000000L }, NULL);
        }
}

/* The watcher's companion and when it was started: one per process. */
static struct {
        const struct companion *of;
        uint64_t since_ns;
} companion;

/* Without the watcher's locks, and gone when the watcher is: the kernel is asked for that, and the watcher may have
 * ended before. Who it is must be known before the fork: whoever asks afterwards may hear of its heir. */
static void companion_start(void)
{
        const pid_t watcher = getpid();
        sigset_t all;

        companion.since_ns = clock_now_ns();
        if (fork() != 0)
                return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != watcher)
                _exit(0);
        signal(SIGCHLD, SIG_DFL);
        sigfillset(&all);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        close_range(FIRST_FD, ~0u, 0);
        companion.of->run(companion.of->path);
}

/* It was killed: another takes its place. One that ends by itself at once would do so again. In the
 * handler, because the watcher sleeps in a lock. */
static void on_companion_end(int number)
{
        const int saved_errno = errno;

        (void)number;
        while (waitpid(-1, NULL, WNOHANG) > 0)
                if (clock_now_ns() - companion.since_ns > COMPANION_MS * NS_PER_MS)
                        companion_start();
        errno = saved_errno;
}

static _Noreturn void watcher_run(const struct watch *watches, size_t count,
                                  const struct companion *wanted)
{
        if (wanted->run) {
                companion.of = wanted;
                signal(SIGCHLD, on_companion_end);
                companion_start();
        }
        for (size_t i = 0; i < count; i++)
                watch_one(&watches[i], FIRST_FD + (int)i);
        _exit(0);
}

/* Twice forked, so that the program has no child it does not know; it has left before the program
 * begins. */
int watcher_start(const struct watch *watches, size_t count, const struct companion *wanted,
                  int argc, char **argv, struct err *e)
{
        const pid_t child = fork();
        int status;

        if (child < 0)
                return err_set(e, -errno, "cannot start the watcher: %s", strerror(errno));
        if (child == 0) {
                const bool has_left = watcher_leave(watches, count, argc, argv) == 0;
                const pid_t watcher = has_left ? fork() : -1;

                if (watcher == 0)
                        watcher_run(watches, count, wanted);
                _exit(watcher < 0);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        if (status != 0)
                return err_set(e, -EAGAIN, "cannot start the watcher");
        return 0;
}
