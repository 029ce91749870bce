/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of who may use a region together: where there are no locks, where another has the lock for a while, and where
 * the namespaces of processes cannot be told. */
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "child.h"

/* As a file system without locks answers. */
static void locks_take_away(void)
{
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                _exit(CANNOT_MOUNT);
}

static void region_without_locks(void)
{
        static struct region first, second;
        struct err e = { 0 };

        child_mount(folder, "ramfs", NULL);
        locks_take_away();
        EXPECT(region_open(path_of("region"), 1, &first, &e) == 0 && region_join(&first) == 0);
        EXPECT(region_open(path_of("region"), 1, &second, &e) == 0 && region_join(&second) == 0);
}

TEST(a_region_is_used_where_the_file_system_has_no_locks)
{
        check(region_without_locks);
}

static void region_without_its_locks(void)
{
        struct region region;
        struct err e = { 0 };

        child_mount(folder, "tmpfs", NULL);
        EXPECT(region_open(path_of("region"), 1, &region, &e) == 0);
        region_close(&region);
        locks_take_away();
        EXPECT(region_open(path_of("region"), 1, &region, &e) == -ENOSYS);
}

TEST(who_forbids_itself_locks_gets_no_region)
{
        check(region_without_its_locks);
}

/* It was stopped, or others had the processors. */
static void region_of_a_slow_one(void)
{
        enum { SLOW_US = 600000 };
        struct region region;
        struct err e = { 0 };
        const int fd = open(path_of("region"), O_RDWR | O_CREAT, 0600);

        EXPECT(flock(fd, LOCK_EX) == 0);
        if (fork() == 0) {
                usleep(SLOW_US);
                _exit(flock(fd, LOCK_UN));
        }
        close(fd);
        EXPECT(region_open(path_of("region"), 1, &region, &e) == 0);
        unlink(path_of("region"));
}

TEST(who_has_the_lock_for_a_while_is_waited_for)
{
        check(region_of_a_slow_one);
}

static mode_t mode_under(mode_t mask)
{
        struct region region;
        struct stat status;
        struct err e = { 0 };

        umask(mask);
        EXPECT(region_open(path_of("region"), 1, &region, &e) == 0);
        EXPECT(stat(path_of("region"), &status) == 0);
        region_close(&region);
        unlink(path_of("region"));
        return status.st_mode & 0777;
}

static void regions_under_masks(void)
{
        EXPECT(mode_under(0) == 0666);
        EXPECT(mode_under(02) == 0660);
        EXPECT(mode_under(022) == 0600);
}

/* Otherwise another user of the machine takes its lock, and nobody gets a GPU. */
TEST(nobody_can_read_a_region_and_not_write_to_it)
{
        check(regions_under_masks);
}

static void namespaces_make(void)
{
        EXPECT(mkdir("/proc/self", 0700) == 0 && mkdir("/proc/self/ns", 0700) == 0);
        EXPECT(close(open("/proc/self/ns/pid", O_WRONLY | O_CREAT, 0600)) == 0);
}

/* gVisor's /proc shows other inodes each time. */
static void region_with_namespaces_that_change(void)
{
        static struct region first, second;
        struct err e = { 0 };

        child_mount("/proc", "tmpfs", NULL);
        namespaces_make();
        EXPECT(region_open(path_of("region"), 1, &first, &e) == 0);
        EXPECT(rename("/proc/self/ns/pid", "/proc/self/ns/kept") == 0);
        EXPECT(close(open("/proc/self/ns/pid", O_WRONLY | O_CREAT, 0600)) == 0);
        EXPECT(region_join(&first) == 0);
        EXPECT(region_open(path_of("region"), 1, &second, &e) == 0);
        unlink(path_of("region"));
}

TEST(what_no_kernel_names_a_namespace_is_none)
{
        check(region_with_namespaces_that_change);
}

static void region_of_one_that_hides_its_namespaces(void)
{
        static struct region first, second;
        struct err e = { 0 };

        child_mount("/proc", "tmpfs", NULL);
        EXPECT(region_open(path_of("region"), 1, &first, &e) == 0);
        EXPECT(umount("/proc") == 0);
        EXPECT(region_open(path_of("region"), 1, &second, &e) == -EXDEV);
        region_close(&first);
        EXPECT(region_open(path_of("region"), 1, &second, &e) == 0);
        unlink(path_of("region"));
}

TEST(who_hides_its_namespaces_is_not_beside_others)
{
        check(region_of_one_that_hides_its_namespaces);
}

int main(void)
{
        return RUN(CASE(a_region_is_used_where_the_file_system_has_no_locks),
                   CASE(who_forbids_itself_locks_gets_no_region),
                   CASE(who_has_the_lock_for_a_while_is_waited_for),
                   CASE(nobody_can_read_a_region_and_not_write_to_it),
                   CASE(what_no_kernel_names_a_namespace_is_none),
                   CASE(who_hides_its_namespaces_is_not_beside_others));
}
