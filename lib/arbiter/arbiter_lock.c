/* SPDX-License-Identifier: Apache-2.0 */
/* The lock file: who holds it, who claims it, and whether the holder still works. */
#include "arbiter_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "file_allocate.h"
#include "futex.h"
#include "guard.h"
#include "process.h"
#include "scope.h"

enum { POLLS = 20, POLL_MS = 100 };

int arbiter_lock_open(const char *path, struct arbiter_lock *ret_lock, struct err *e)
{
        autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        const int r = fd < 0 ? -errno : file_allocate(fd, 0, sizeof(struct arbiter_lock_file));

        if (r < 0)
                return err_set(e, r, "cannot open '%s': %s", path, strerror(-r));
        void *file = mmap(NULL, sizeof(struct arbiter_lock_file), PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map '%s': %s", path, strerror(errno));
        *ret_lock = (struct arbiter_lock){ .fd = steal_fd(fd), .file = file };
        return 0;
}

int arbiter_lock_open_of(int folder, uid_t user, struct arbiter_lock *ret_lock)
{
        autoclose int fd = openat(folder, ARBITER_LOCK_NAME,
                                  O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat status;

        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (!S_ISREG(status.st_mode) || status.st_uid != user)
                return -EPERM;
        if (status.st_size < (off_t)sizeof(struct arbiter_lock_file))
                return -EPROTO; /* another release's */
        void *file = mmap(NULL, sizeof(struct arbiter_lock_file), PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return -errno;
        const int r = guard_add(file, sizeof(struct arbiter_lock_file));
        if (r < 0) {
                munmap(file, sizeof(struct arbiter_lock_file));
                return r;
        }
        *ret_lock = (struct arbiter_lock){ .fd = steal_fd(fd), .file = file };
        return 0;
}

void arbiter_lock_close(struct arbiter_lock *lock)
{
        guard_remove(lock->file);
        munmap(lock->file, sizeof *lock->file);
        close(lock->fd);
}

static void arbiter_lock_sign(struct arbiter_lock *lock)
{
        const pid_t pid = getpid();

        lock->file->version = ARBITER_LOCK_VERSION;
        if (!arbiter_lock_is_claimed(lock) && atomic_load(&lock->file->agent_pid) != (uint32_t)pid)
                atomic_store(&lock->file->agent_pid, 0); /* an agent that is gone */
        atomic_store(&lock->file->start_time, process_start_time(pid));
        atomic_store(&lock->file->pid, (uint32_t)pid);
}

int arbiter_lock_take(struct arbiter_lock *lock)
{
        while (flock(lock->fd, LOCK_EX) < 0)
                if (errno != EINTR)
                        return -errno;
        if (lock->file->version > ARBITER_LOCK_VERSION)
                return -EPROTO;
        arbiter_lock_sign(lock);
        return 0;
}

bool arbiter_lock_try(struct arbiter_lock *lock)
{
        if (flock(lock->fd, LOCK_EX | LOCK_NB) < 0)
                return false;
        arbiter_lock_sign(lock);
        return true;
}

void arbiter_lock_release(struct arbiter_lock *lock)
{
        atomic_store(&lock->file->pid, 0);
        flock(lock->fd, LOCK_UN);
}

void arbiter_lock_claim(struct arbiter_lock *lock)
{
        atomic_store(&lock->file->agent_start_time, process_start_time(getpid()));
        atomic_store(&lock->file->agent_pid, (uint32_t)getpid());
        arbiter_lock_ring(lock);
}

bool arbiter_lock_is_claimed(const struct arbiter_lock *lock)
{
        const pid_t pid = (pid_t)atomic_load(&lock->file->agent_pid);

        return pid && pid != getpid() &&
               process_is_alive(pid, atomic_load(&lock->file->agent_start_time));
}

void arbiter_lock_wait_unclaimed(const struct arbiter_lock *lock)
{
        autoclose int fd = (int)syscall(SYS_pidfd_open, atomic_load(&lock->file->agent_pid), 0);
        struct pollfd gone = { .fd = fd, .events = POLLIN };

        while (arbiter_lock_is_claimed(lock))
                if (fd < 0 || poll(&gone, 1, -1) < 0)
                        nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * (long)NS_PER_MS }, NULL);
}

void arbiter_lock_ring(struct arbiter_lock *lock)
{
        futex_ring(&lock->file->members);
}

/* The letter after the name in /proc/PID/stat: T stopped, t traced. */
static bool process_is_stopped(pid_t pid)
{
        char path[32];
        autofree char *text = NULL;

        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        if (file_read(path, &text) < 0)
                return false;
        const char *name_end = strrchr(text, ')');
        return name_end && name_end[1] == ' ' && (name_end[2] == 'T' || name_end[2] == 't');
}

static bool holder_moves(struct arbiter_lock *lock)
{
        const uint64_t steps = atomic_load(&lock->file->steps);

        arbiter_lock_ring(lock);
        for (int i = 0; i < POLLS && atomic_load(&lock->file->steps) == steps; i++)
                nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * (long)NS_PER_MS }, NULL);
        return atomic_load(&lock->file->steps) != steps;
}

/* Through a descriptor: the number may be another's by the time we kill it. */
static void holder_kill(pid_t pid, uint64_t start_time)
{
        autoclose int fd = (int)syscall(SYS_pidfd_open, pid, 0);

        if (fd >= 0 && process_is_alive(pid, start_time))
                syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

bool arbiter_lock_free_if_stuck(struct arbiter_lock *lock)
{
        const pid_t pid = (pid_t)atomic_load(&lock->file->pid);
        const uint64_t start_time = atomic_load(&lock->file->start_time);

        if (pid == 0 || !process_is_alive(pid, start_time))
                return true;
        if (pid == getpid() || pid == (pid_t)atomic_load(&lock->file->agent_pid) ||
            (!process_is_stopped(pid) && holder_moves(lock)))
                return false; /* the agent is for those to deal with who started it */
        holder_kill(pid, start_time);
        return true;
}
