/* SPDX-License-Identifier: Apache-2.0 */
/* The machine file: opening it, its clock and its locks. */
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "machine_boot.h"
#include "scope.h"

void machine_lock_init(pthread_mutex_t *lock)
{
        pthread_mutexattr_t attributes;

        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(lock, &attributes);
        pthread_mutexattr_destroy(&attributes);
}

bool machine_lock(pthread_mutex_t *lock)
{
        if (pthread_mutex_lock(lock) != EOWNERDEAD)
                return false;
        /* An heir that dies while it repairs leaves the lock to the next heir. */
        pthread_mutex_consistent(lock);
        return true;
}

void machine_unlock(pthread_mutex_t *lock)
{
        pthread_mutex_unlock(lock);
}

int machine_file_check(int fd, const char *path, struct err *e)
{
        struct stat st;

        if (fstat(fd, &st) < 0)
                return err_set(e, -errno, "cannot read machine '%s': %s", path, strerror(errno));
        if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < sizeof(struct machine_header))
                return err_set(e, -EPROTO,
                               "'%s' is not a machine file; make one with "
                               "'vgpu sim create'",
                               path);

        uint64_t head[2]; /* magic, version and GPU count */
        if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head || head[0] != MACHINE_MAGIC)
                return err_set(e, -EPROTO,
                               "'%s' is not a machine file; make one with "
                               "'vgpu sim create'",
                               path);
        uint32_t version = (uint32_t)head[1];
        if (version != MACHINE_VERSION)
                return err_set(e, -EPROTO,
                               "machine '%s' has version %u, this release reads %u; "
                               "recreate it with 'vgpu sim create'",
                               path, version, MACHINE_VERSION);
        if ((uint64_t)st.st_size < sizeof(struct machine_file))
                return err_set(e, -EPROTO,
                               "machine '%s' is truncated (%lld of %zu bytes); make it "
                               "anew with 'vgpu sim create'",
                               path, (long long)st.st_size, sizeof(struct machine_file));
        return 0;
}

/* Root's power is not for what another user can write into. */
static int owner_check(int fd, const char *path, struct err *e)
{
        struct stat st;

        if (geteuid() != 0 || (fstat(fd, &st) == 0 && st.st_uid == 0))
                return 0;
        return err_set(e, -EPERM,
                       "machine '%s' is another user's, who may write anything into it; take part "
                       "in it as that user",
                       path);
}

static int file_open(const char *path, bool is_to_be_own, struct machine *ret_machine,
                     struct err *e)
{
        autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return err_set(e, -errno, "cannot open machine '%s': %s", path, strerror(errno));

        int r = machine_file_check(fd, path, e);
        if (r == 0 && is_to_be_own)
                r = owner_check(fd, path, e);
        if (r < 0)
                return r;

        struct machine_file *file =
                mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (file == MAP_FAILED)
                return err_set(e, -errno, "cannot map machine '%s': %s", path, strerror(errno));
        /* A core dump or a fork of the guest need not carry the machine along. */
        madvise(file, sizeof *file, MADV_DONTDUMP);

        machine_boot_check(file, fd);
        *ret_machine = (struct machine){ .file = file, .fd = steal_fd(fd) };
        return 0;
}

int machine_open(const char *path, struct machine *ret_machine, struct err *e)
{
        return file_open(path, false, ret_machine, e);
}

int machine_open_own(const char *path, struct machine *ret_machine, struct err *e)
{
        return file_open(path, true, ret_machine, e);
}

int machine_open_default(struct machine *ret_machine, struct err *e)
{
        const char *path = getenv("VGPU_SIM");

        if (!path || !*path)
                return err_set(e, -ENOENT,
                               "no simulated machine: VGPU_SIM names none; use "
                               "'vgpu run --sim=PRESET -- PROGRAM' or export VGPU_SIM=PATH");
        return machine_open(path, ret_machine, e);
}

void machine_close(struct machine *machine)
{
        if (!machine->file)
                return;
        munmap(machine->file, sizeof *machine->file);
        close(machine->fd);
        *machine = (struct machine){ .fd = -1 };
}

uint64_t machine_now_ns(const struct machine *machine)
{
        const struct machine_header *header = &machine->file->header;
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t real_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        uint64_t span_ns = real_ns > header->epoch_ns ? real_ns - header->epoch_ns : 0;
        if (header->time_scale != 1.0)
                span_ns = (uint64_t)((double)span_ns * header->time_scale);
        return span_ns + 1;
}

uint64_t machine_real_ns(const struct machine *machine, uint64_t simulated_ns)
{
        double scale = machine->file->header.time_scale;

        return scale == 1.0 ? simulated_ns : (uint64_t)((double)simulated_ns / scale);
}

void machine_count(struct machine *machine, enum machine_counter counter, uint64_t amount)
{
        atomic_fetch_add_explicit(&machine->file->header.counters[counter], amount,
                                  memory_order_relaxed);
}

/* vgpu-burn's load. Interpreted, it would keep the host busy and the GPU idle. */
static const struct machine_kernel_time burn_kernels[] = { { "vgpu_burn", 2000 },
                                                           { "vgpu_burn_d", 4000 } };

bool machine_kernel_duration(const struct machine *machine, const char *name, uint64_t *ret_ns)
{
        const struct machine_kernel *kernels = machine->file->header.kernels;

        /* Names are added while we read: the first letter is written last, and read first. */
        for (unsigned i = 0; i < MACHINE_KERNELS; i++) {
                if (!__atomic_load_n(&kernels[i].name[0], __ATOMIC_ACQUIRE))
                        break;
                if (strcmp(kernels[i].name, name) == 0) {
                        *ret_ns = __atomic_load_n(&kernels[i].duration_ns, __ATOMIC_RELAXED);
                        return true;
                }
        }
        for (size_t i = 0; i < sizeof burn_kernels / sizeof burn_kernels[0]; i++) {
                if (strcmp(burn_kernels[i].name, name) == 0) {
                        *ret_ns = (uint64_t)burn_kernels[i].microseconds * 1000;
                        return true;
                }
        }
        return false;
}
