/* The arbiter's seat. */
#include "seat.h"

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
#include "futex.h"
#include "guard.h"
#include "process.h"
#include "scope.h"

enum { LOOKS = 20, LOOK_MS = 100 };

int seat_open(const char *path, struct seat *ret_seat, struct err *e)
{
        autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

        if (fd < 0 || ftruncate(fd, sizeof(struct seat_file)) < 0)
                return err_set(e, -errno, "cannot open '%s': %s", path, strerror(errno));
        void *file =
                mmap(NULL, sizeof(struct seat_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map '%s': %s", path, strerror(errno));
        *ret_seat = (struct seat){ .fd = steal_fd(fd), .file = file };
        return 0;
}

int seat_open_of(int folder, uid_t user, struct seat *ret_seat)
{
        autoclose int fd =
                openat(folder, SEAT_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat status;

        if (fd < 0 || fstat(fd, &status) < 0)
                return -errno;
        if (!S_ISREG(status.st_mode) || status.st_uid != user)
                return -EPERM;
        if (status.st_size < (off_t)sizeof(struct seat_file))
                return -EPROTO; /* another release's */
        void *file =
                mmap(NULL, sizeof(struct seat_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (file == MAP_FAILED)
                return -errno;
        const int r = guard_add(file, sizeof(struct seat_file));
        if (r < 0) {
                munmap(file, sizeof(struct seat_file));
                return r;
        }
        *ret_seat = (struct seat){ .fd = steal_fd(fd), .file = file };
        return 0;
}

void seat_close(struct seat *seat)
{
        guard_remove(seat->file);
        munmap(seat->file, sizeof *seat->file);
        close(seat->fd);
}

static void seat_sign(struct seat *seat)
{
        const pid_t pid = getpid();

        seat->file->version = SEAT_VERSION;
        if (!seat_is_claimed(seat) && atomic_load(&seat->file->agent_pid) != (uint32_t)pid)
                atomic_store(&seat->file->agent_pid, 0); /* an agent that is gone */
        atomic_store(&seat->file->start_time, process_start_time(pid));
        atomic_store(&seat->file->pid, (uint32_t)pid);
}

int seat_take(struct seat *seat)
{
        while (flock(seat->fd, LOCK_EX) < 0)
                if (errno != EINTR)
                        return -errno;
        if (seat->file->version > SEAT_VERSION)
                return -EPROTO;
        seat_sign(seat);
        return 0;
}

bool seat_try(struct seat *seat)
{
        if (flock(seat->fd, LOCK_EX | LOCK_NB) < 0)
                return false;
        seat_sign(seat);
        return true;
}

void seat_give(struct seat *seat)
{
        atomic_store(&seat->file->pid, 0);
        flock(seat->fd, LOCK_UN);
}

void seat_claim(struct seat *seat)
{
        atomic_store(&seat->file->agent_start_time, process_start_time(getpid()));
        atomic_store(&seat->file->agent_pid, (uint32_t)getpid());
        seat_ring(seat);
}

bool seat_is_claimed(const struct seat *seat)
{
        const pid_t pid = (pid_t)atomic_load(&seat->file->agent_pid);

        return pid && pid != getpid() &&
               process_is_alive(pid, atomic_load(&seat->file->agent_start_time));
}

void seat_wait_unclaimed(const struct seat *seat)
{
        autoclose int fd = (int)syscall(SYS_pidfd_open, atomic_load(&seat->file->agent_pid), 0);
        struct pollfd gone = { .fd = fd, .events = POLLIN };

        while (seat_is_claimed(seat))
                if (fd < 0 || poll(&gone, 1, -1) < 0)
                        nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * (long)NS_PER_MS }, NULL);
}

void seat_ring(struct seat *seat)
{
        futex_ring(&seat->file->members);
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

static bool holder_moves(struct seat *seat)
{
        const uint64_t steps = atomic_load(&seat->file->steps);

        seat_ring(seat);
        for (int i = 0; i < LOOKS && atomic_load(&seat->file->steps) == steps; i++)
                nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * (long)NS_PER_MS }, NULL);
        return atomic_load(&seat->file->steps) != steps;
}

/* Through a descriptor: the number may be another's by the time we kill it. */
static void holder_kill(pid_t pid, uint64_t start_time)
{
        autoclose int fd = (int)syscall(SYS_pidfd_open, pid, 0);

        if (fd >= 0 && process_is_alive(pid, start_time))
                syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

bool seat_free_if_stuck(struct seat *seat)
{
        const pid_t pid = (pid_t)atomic_load(&seat->file->pid);
        const uint64_t start_time = atomic_load(&seat->file->start_time);

        if (pid == 0 || !process_is_alive(pid, start_time))
                return true;
        if (pid == getpid() || pid == (pid_t)atomic_load(&seat->file->agent_pid) ||
            (!process_is_stopped(pid) && holder_moves(seat)))
                return false; /* the agent is for those to deal with who started it */
        holder_kill(pid, start_time);
        return true;
}
