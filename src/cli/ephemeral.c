/* Machines of `vgpu run --sim`: they vanish with the last process that uses them.
 *
 * The program inherits a descriptor that holds a shared lock on the file. The watcher waits for the
 * exclusive lock, which the kernel grants when the last copy of that descriptor is gone, however its
 * holders died; then for processes that closed it but are attached. A watcher that was killed leaves
 * an unlocked file: the next run removes it. A file that is being made has another name. */
#include "ephemeral.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "machine_option.h"
#include "places.h"
#include "scope.h"

#define PREFIX "vgpu-run-"
#define MADE   ".machine"
#define MAKING ".making"

enum {
        LOCK_FD_LEAST = 100, /* out of the way of programs that count on small numbers */
        MAKING_SECONDS = 60, /* nobody takes that long to make a machine */
        USERS_POLL_MS = 100,
};

static bool has_suffix(const char *name, const char *suffix)
{
        const size_t length = strlen(name), suffix_length = strlen(suffix);

        return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static void nap(void)
{
        nanosleep(&(struct timespec){ .tv_nsec = USERS_POLL_MS * 1000000L }, NULL);
}

/* True when no process uses the machine. A file that is no machine has no users. */
static bool is_unused(const char *path)
{
        struct machine machine;
        unsigned users;

        if (machine_open(path, &machine, NULL) < 0)
                return true;
        users = machine_option_users(&machine);
        machine_close(&machine);
        return users == 0;
}

static void remove_if_stale(const char *path, bool is_made)
{
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
                return;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0)
                return;
        if (is_made ? is_unused(path) : time(NULL) - st.st_ctime > MAKING_SECONDS)
                unlink(path);
}

static void remove_stale(const char *place)
{
        DIR *directory = opendir(place);
        struct dirent *entry;

        if (!directory)
                return;
        while ((entry = readdir(directory))) {
                char path[EPHEMERAL_PATH_BYTES];
                const bool is_made = has_suffix(entry->d_name, MADE);

                if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
                    (!is_made && !has_suffix(entry->d_name, MAKING)))
                        continue;
                snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
                remove_if_stale(path, is_made);
        }
        closedir(directory);
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

/* Out of the program's family, terminal, folder and files. Returns the watcher's own descriptor. */
static int watcher_leave(const char *path, int argc, char **argv)
{
        int fd = open(path, O_RDWR | O_CLOEXEC);
        const int null = open("/dev/null", O_RDWR);

        watcher_rename(argc, argv);
        setsid();
        if (fd < 0 || null < 0 || chdir("/") < 0)
                return -1;
        for (int i = 0; i < 3; i++)
                dup2(null, i);
        /* Everything else belongs to the program: above all, its copy of the lock. */
        fd = dup2(fd, 3);
        close_range(4, ~0u, 0);
        for (int number = 1; number < 32; number++)
                if (number != SIGKILL && number != SIGSTOP)
                        signal(number, SIG_DFL);
        signal(SIGHUP, SIG_IGN);
        return fd;
}

static _Noreturn void watcher_run(const char *path, int fd)
{
        while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
                ;
        while (!is_unused(path))
                nap();
        unlink(path);
        _exit(0);
}

/* Twice forked, so that the program has no child it does not know; it has left before the program
 * begins. */
static int watcher_start(const char *path, int argc, char **argv, struct err *e)
{
        const pid_t child = fork();
        int status;

        if (child < 0)
                return err_set(e, -errno, "cannot start the machine's watcher: %s",
                               strerror(errno));
        if (child == 0) {
                const int fd = watcher_leave(path, argc, argv);
                const pid_t watcher = fd < 0 ? -1 : fork();

                if (watcher == 0)
                        watcher_run(path, fd);
                _exit(watcher < 0);
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        if (status != 0)
                return err_set(e, -EAGAIN, "cannot start the machine's watcher");
        return 0;
}

/* The lock that the program and its children hold; not close-on-exec, that is its purpose. */
static int lock_take(const char *path)
{
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
        int kept;

        if (fd < 0 || flock(fd, LOCK_SH) < 0)
                return -errno;
        kept = fcntl(fd, F_DUPFD, LOCK_FD_LEAST);
        if (kept < 0)
                kept = fcntl(fd, F_DUPFD, 3);
        return kept < 0 ? -errno : kept;
}

static int create_in(const char *place, const struct machine_spec *spec, char *ret_path,
                     struct err *e)
{
        char making[EPHEMERAL_PATH_BYTES];
        uint64_t number = 0;
        int r;

        if (getrandom(&number, sizeof number, 0) < 0)
                number = (uint64_t)getpid();
        if (snprintf(ret_path, EPHEMERAL_PATH_BYTES, "%s/" PREFIX "%016llx" MADE, place,
                     (unsigned long long)number) >= EPHEMERAL_PATH_BYTES)
                return err_set(e, -ENAMETOOLONG, "the folder '%.60s…' is too long a name", place);
        snprintf(making, sizeof making, "%.3000s/" PREFIX "%016llx" MAKING, place,
                 (unsigned long long)number);
        r = machine_create(making, spec, e);
        if (r < 0)
                return r;
        r = lock_take(making);
        if (r >= 0 && rename(making, ret_path) == 0)
                return 0;
        r = r < 0 ? r : -errno;
        unlink(making);
        return err_set(e, r, "cannot make machine '%s': %s", ret_path, strerror(-r));
}

int ephemeral_create(const struct machine_spec *spec, char ret_path[EPHEMERAL_PATH_BYTES], int argc,
                     char **argv, struct err *e)
{
        const char *places[PLACES];
        const size_t count = places_list(places);
        int r = err_set(e, -EACCES,
                        "no folder for the machine: neither XDG_RUNTIME_DIR nor "
                        "/dev/shm nor /tmp can be written");

        for (size_t i = 0; i < count; i++)
                remove_stale(places[i]);
        for (size_t i = 0; i < count && r < 0; i++)
                r = create_in(places[i], spec, ret_path, e);
        if (r < 0)
                return r;
        r = watcher_start(ret_path, argc, argv, e);
        if (r < 0)
                unlink(ret_path);
        return r;
}
