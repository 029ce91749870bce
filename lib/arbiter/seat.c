/* The arbiter's seat. */
#include "seat.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "futex.h"
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

void seat_close(struct seat *seat)
{
        munmap(seat->file, sizeof *seat->file);
        close(seat->fd);
}

int seat_take(struct seat *seat)
{
        const pid_t pid = getpid();

        while (flock(seat->fd, LOCK_EX) < 0)
                if (errno != EINTR)
                        return -errno;
        if (seat->file->version > SEAT_VERSION)
                return -EPROTO;
        seat->file->version = SEAT_VERSION;
        atomic_store(&seat->file->start_time, process_start_time(pid));
        atomic_store(&seat->file->pid, (uint32_t)pid);
        return 0;
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
        if (pid == getpid() || (!process_is_stopped(pid) && holder_moves(seat)))
                return false;
        holder_kill(pid, start_time);
        return true;
}
