/* SPDX-License-Identifier: Apache-2.0 */
/* faults: preloaded into a program of ours, lets chosen allocations fail and its clocks jump. A file that the test
 * maps too says which (FAULTS_FILE), and learns from where the program allocates. Only what is reached from one
 * object counts (FAULTS_IN: the program's or a library's file name), also by way of other libraries; but not what
 * libraries allocate that end the process themselves when they get nothing (FAULTS_NOT: how their names begin). */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

enum { PATHS = 8192, FRAMES = 6, SPARED = 16, EVERY = 1 };

#define FAULTS_MAGIC UINT64_C(0x73746c7561667076)

/* One way through our code to an allocation: the return addresses, from the object's beginning, innermost first. */
struct path {
        _Atomic uint64_t digest, count;
        uint64_t frames[FRAMES];
};

/* tests/faults/control.py has the same. */
struct faults {
        uint64_t magic;
        _Atomic uint64_t digest;     /* of the path that fails; EVERY: any; 0: none */
        _Atomic uint64_t skip, most; /* so many succeed first, then so many fail */
        _Atomic uint64_t failed;
        _Atomic int64_t wall_ns, running_ns, boot_ns; /* clocks are ahead by that */
        struct path paths[PATHS];
};

struct code {
        uintptr_t begin, end;
};

/* What the constructor found; without it nothing fails. */
static struct {
        struct faults *control;
        uintptr_t base;
        struct code code, spared[SPARED];
        unsigned spared_count;
} faults;

/* A thread that is inside of an allocation that we look at: the unwinder may allocate. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

struct walk {
        uint64_t frames[FRAMES], digest;
        unsigned count;
        bool is_spared;
};

static bool code_has(const struct code *code, uintptr_t at)
{
        return at >= code->begin && at < code->end;
}

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *owner)
{
        struct walk *walk = owner;
        const uintptr_t at = _Unwind_GetIP(context);

        for (unsigned i = 0; i < faults.spared_count; i++)
                walk->is_spared |= walk->count == 0 && code_has(&faults.spared[i], at);
        if (!code_has(&faults.code, at))
                return _URC_NO_REASON;
        walk->frames[walk->count++] = at - faults.base;
        walk->digest = (walk->digest ^ (at - faults.base)) * UINT64_C(0x100000001b3);
        return walk->count < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void path_count(const struct walk *walk)
{
        for (unsigned i = 0; i < PATHS; i++) {
                struct path *path = &faults.control->paths[(walk->digest + i) % PATHS];
                uint64_t empty = 0;

                if (atomic_compare_exchange_strong(&path->digest, &empty, walk->digest))
                        memcpy(path->frames, walk->frames, sizeof path->frames);
                else if (empty != walk->digest)
                        continue;
                atomic_fetch_add(&path->count, 1);
                return;
        }
}

static bool is_chosen(uint64_t digest)
{
        struct faults *control = faults.control;
        const uint64_t chosen = atomic_load(&control->digest);

        if (!chosen || (chosen != EVERY && chosen != digest))
                return false;
        for (uint64_t left = atomic_load(&control->skip); left > 0;)
                if (atomic_compare_exchange_weak(&control->skip, &left, left - 1))
                        return false;
        for (uint64_t left = atomic_load(&control->most); left > 0;)
                if (atomic_compare_exchange_weak(&control->most, &left, left - 1)) {
                        atomic_fetch_add(&control->failed, 1);
                        return true;
                }
        return false;
}

static bool fails(void)
{
        struct walk walk = { .digest = UINT64_C(0xcbf29ce484222325) };

        if (!faults.control || is_inside)
                return false;
        is_inside = true;
        _Unwind_Backtrace(walk_frame, &walk);
        const bool is_ours = walk.count > 0 && !walk.is_spared;
        if (is_ours)
                path_count(&walk);
        is_inside = false;
        if (!is_ours || !is_chosen(walk.digest))
                return false;
        errno = ENOMEM;
        return true;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
        return fails() ? NULL : __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
        return fails() ? NULL : __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
        return fails() ? NULL : __libc_realloc(memory, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **ret_memory, size_t alignment,
                                                          size_t size)
{
        void *memory = fails() ? NULL : __libc_memalign(alignment, size);

        if (!memory)
                return ENOMEM;
        *ret_memory = memory;
        return 0;
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size)
{
        return fails() ? NULL : __libc_memalign(alignment, size);
}

/* By how much a clock is ahead. */
static int64_t ahead_ns(clockid_t clock)
{
        if (!faults.control)
                return 0;
        switch (clock) {
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE:
        case CLOCK_TAI:
                return atomic_load(&faults.control->wall_ns);
        case CLOCK_MONOTONIC:
        case CLOCK_MONOTONIC_COARSE:
        case CLOCK_MONOTONIC_RAW:
                return atomic_load(&faults.control->running_ns);
        case CLOCK_BOOTTIME:
                return atomic_load(&faults.control->boot_ns);
        default:
                return 0;
        }
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
        const int64_t second = 1000000000;
        const int r = (int)syscall(SYS_clock_gettime, clock, now);

        if (r == 0) {
                const int64_t ns = (int64_t)now->tv_sec * second + now->tv_nsec + ahead_ns(clock);
                now->tv_sec = (time_t)(ns / second);
                now->tv_nsec = (long)(ns % second);
        }
        return r;
}

__attribute__((visibility("default"))) time_t time(time_t *ret_now)
{
        struct timespec now = { 0 };

        clock_gettime(CLOCK_REALTIME, &now);
        if (ret_now)
                *ret_now = now.tv_sec;
        return now.tv_sec;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *ret_now, void *zone)
{
        struct timespec now = { 0 };

        (void)zone;
        clock_gettime(CLOCK_REALTIME, &now);
        *ret_now = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
        return 0;
}

static const char *file_name(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

static struct code code_of(const struct dl_phdr_info *info)
{
        struct code code = { 0 };

        for (unsigned i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

                if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
                        continue;
                code.begin = info->dlpi_addr + segment->p_vaddr;
                code.end = code.begin + segment->p_memsz;
        }
        return code;
}

/* "libgmp.so:libtasn1.so": does the name begin with one of them? */
static bool is_spared(const char *name)
{
        const char *at = getenv("FAULTS_NOT");

        while (at && *at) {
                const size_t length = strcspn(at, ":");

                if (length && strncmp(name, at, length) == 0)
                        return true;
                at += length + (at[length] == ':');
        }
        return false;
}

static int object_find(struct dl_phdr_info *info, size_t size, void *owner)
{
        const char *name =
                info->dlpi_name[0] ? file_name(info->dlpi_name) : program_invocation_short_name;

        (void)size;
        if (strcmp(name, owner) == 0) {
                faults.base = info->dlpi_addr;
                faults.code = code_of(info);
        } else if (is_spared(name) && faults.spared_count < SPARED) {
                faults.spared[faults.spared_count++] = code_of(info);
        }
        return 0;
}

__attribute__((constructor)) static void faults_open(void)
{
        const char *path = getenv("FAULTS_FILE"), *object = getenv("FAULTS_IN");
        const int fd = path && object ? open(path, O_RDWR | O_CLOEXEC) : -1;

        if (fd < 0)
                return;
        void *map = mmap(NULL, sizeof(struct faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (map == MAP_FAILED || ((struct faults *)map)->magic != FAULTS_MAGIC)
                return;
        /* Clocks are the whole process's; a program that has not the object goes unharmed. */
        dl_iterate_phdr(object_find, (void *)object);
        if (faults.code.end)
                faults.control = map;
}
