/* SPDX-License-Identifier: Apache-2.0 */
/* What vgpu-node keeps once it has its configuration. Its own calls are known; those of the driver's NVML are not: that
 * library is closed, talks to the driver by ioctl(2) alone, and was never run here. */
#include "node_calls.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "daemon_calls.h"

static const struct call_row node_calls[] = {
        CALL_IF(socket, EQUAL, 0, AF_UNIX), /* kubelet, vgpu-runtime, the containers' registry */
        /* threads, but no processes: the arbiter, the driver's, and one for leases of files */
        CALL_IF(clone, WITH, 0, CLONE_THREAD),
        CALL_IF(mprotect, WITHOUT, 2, PROT_EXEC),
        CALL_IF(prlimit64, EQUAL, 2, 0), /* to know them, not to set them */
        CALL(set_robust_list),
        CALL(rseq),
        CALL_IF(prctl, EQUAL, 0, PR_SET_NAME),
        CALL(exit),
        /* shares: folders, files, pages */
        CALL(openat), /* also to write */
#ifdef __x86_64__     /* arm64 has the newer forms alone */
        CALL(access),
        CALL(chmod),
        CALL(mkdir),
        CALL(readlink),
        CALL(rename),
        CALL(rmdir),
        CALL(unlink),
#else
        CALL(faccessat),
        CALL(fchmodat),
        CALL(mkdirat),
        CALL(readlinkat),
        CALL(renameat),
        CALL(unlinkat),
#endif
        CALL(faccessat2),
        CALL(fallocate),
        CALL(fchmod),
        CALL(fcntl),
        CALL(flock),
        CALL(ftruncate),
        CALL(getdents64),
        CALL(pread64),
        CALL(eventfd2),
        CALL(inotify_init1),
        CALL(inotify_add_watch),
        CALL(inotify_rm_watch),
        /* time slices */
        CALL(futex_waitv),
        /* processes of containers: are they there? and, for --violation-policy=evict, their end */
        CALL_IF(kill, EQUAL, 1, 0),
        CALL(pidfd_open),
        CALL_IF(pidfd_send_signal, EQUAL, 1, SIGKILL),
        CALL_END,
};

/* By what is public of nvidia-smi; ioctl(2) takes whatever the driver knows. */
static const struct call_row nvml_calls[] = {
        CALL(ioctl),
        CALL_IF(mmap, WITHOUT, 2, PROT_WRITE), /* libraries: code that is not written to */
        CALL(clock_getres),
        CALL(dup),
        CALL(geteuid),
        CALL(getuid),
        CALL(get_mempolicy),
        CALL(pipe2),
        CALL(ppoll),
        CALL(pselect6),
        CALL(sched_yield),
        CALL(set_tid_address),
        CALL(statfs),
        CALL(sysinfo),
        CALL(uname),
#ifdef __x86_64__
        CALL(poll),
        CALL(select),
        CALL(stat),
        CALL(lstat),
        CALL(open),
#endif
        CALL_END,
};

struct confinement node_confinement(bool is_standalone)
{
        static const struct call_row *const tables[] = { daemon_calls, node_calls, nvml_calls,
                                                         NULL };
        /* Of users: to read the files of their shares, and to end a container's processes. Under Kubernetes kubelet ends
         * them, and no user has shares. */
        const uint64_t of_users = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_KILL;
        /* The simulated driver tells containers' processes apart by their pid namespaces, which takes it to see them:
         * two first processes of the same tick are alike in all else. NVIDIA's driver knows them by itself. */
        const uint64_t of_simulator = getenv("VGPU_SIM") ? 1ull << CAP_SYS_PTRACE : 0;

        return (struct confinement){ .tables = tables,
                                     .capabilities = is_standalone ? of_users | of_simulator : 0 };
}
