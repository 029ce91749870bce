/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a child that first asks who its parent is takes so long that the parent may be gone. */
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) pid_t getppid(void)
{
        static bool has_slept;

        if (!has_slept)
                nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
        has_slept = true;
        return (pid_t)syscall(SYS_getppid);
}
