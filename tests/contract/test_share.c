/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the share file: whole at any time, refused when it cannot be right. */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define MIB (UINT64_C(1) << 20)

static const char *fresh_path(void)
{
        static char path[64];

        snprintf(path, sizeof path, "/dev/shm/vgpu-test-share-%d", getpid());
        unlink(path);
        return path;
}

static struct share_copy content(uint64_t limit_bytes)
{
        struct share_copy copy = { .device_count = 1, .name = "a" };

        snprintf(copy.devices[0].uuid, sizeof copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = limit_bytes;
        copy.devices[0].physical_bytes = limit_bytes / 2;
        return copy;
}

static void make_with(const char *path, uint64_t limit_bytes)
{
        struct share_copy copy = content(limit_bytes);
        struct err e = { 0 };

        assert_int_equal(share_create(path, &copy, &e), 0);
}

TEST(what_was_written_is_read)
{
        const char *path = fresh_path();
        struct share share;
        struct err e = { 0 };

        make_with(path, 200 * MIB);
        CHECK_EQ(share_open(path, false, &share, &e), 0);
        const struct share_copy *copy = share_current(&share);
        CHECK_STR(copy->name, "a");
        CHECK_EQ(copy->generation, 1);
        CHECK_EQ(copy->devices[0].limit_bytes, 200 * MIB);
        CHECK_EQ(share_find_device(copy, "GPU-1"), 0);
        CHECK_EQ(share_find_device(copy, "GPU-2"), -1);
        share_close(&share);
        unlink(path);
}

TEST(a_change_is_seen_by_those_who_have_it_open)
{
        const char *path = fresh_path();
        struct share owner, reader;
        struct err e = { 0 };

        make_with(path, 200 * MIB);
        CHECK_EQ(share_open(path, true, &owner, &e), 0);
        CHECK_EQ(share_open(path, false, &reader, &e), 0);
        struct share_copy copy = content(300 * MIB);
        CHECK_EQ(share_update(&owner, &copy, &e), 0);
        CHECK_EQ(share_current(&reader)->devices[0].limit_bytes, 300 * MIB);
        CHECK_EQ(share_current(&reader)->generation, 2);
        share_close(&owner);
        share_close(&reader);
        unlink(path);
}

TEST(nonsense_is_not_written)
{
        const char *path = fresh_path();
        struct err e = { 0 };
        struct share_copy copy = content(MIB);

        copy.devices[0].physical_bytes = 2 * MIB;
        CHECK_EQ(share_create(path, &copy, &e), -EPROTO);
        CHECK_EQ(access(path, F_OK), -1);
        copy = content(MIB);
        copy.devices[0].cores_percent = 101;
        CHECK_EQ(share_create(path, &copy, &e), -EPROTO);
        copy = content(MIB);
        copy.device_count = 65;
        CHECK_EQ(share_create(path, &copy, &e), -EPROTO);
        copy = content(MIB);
        memset(copy.name, 'x', sizeof copy.name);
        CHECK_EQ(share_create(path, &copy, &e), -EPROTO);
}

TEST(a_damaged_file_is_refused)
{
        const char *path = fresh_path();
        struct share share;
        struct err e = { 0 };

        make_with(path, 200 * MIB);
        CHECK_EQ(share_open(path, true, &share, &e), 0);
        share.file->copies[0].devices[0].limit_bytes = 400 * MIB; /* not through share_update */
        share_close(&share);
        CHECK_EQ(share_open(path, false, &share, &e), -EPROTO);
        CHECK_EQ(truncate(path, 100), 0);
        CHECK_EQ(share_open(path, false, &share, &e), -EPROTO);
        unlink(path);
        CHECK_EQ(share_open(path, false, &share, &e), -ENOENT);
}

TEST(an_owner_makes_right_what_no_checksum_covers)
{
        const char *path = fresh_path();
        struct share_copy copy = content(200 * MIB);
        struct share share;
        struct err e = { 0 };

        copy.devices[0].cores_percent = 30;
        CHECK_EQ(share_create(path, &copy, &e), 0);
        CHECK_EQ(share_open(path, true, &share, &e), 0);
        CHECK(!share_mend(&share));
        copy.devices[0].limit_bytes = 100 * MIB;
        copy.devices[0].physical_bytes = 50 * MIB;
        CHECK_EQ(share_update(&share, &copy, &e), 0);
        CHECK(!share_mend(&share));
        /* Compute is unlimited, and memory as it was before the change. */
        atomic_store(&share.file->limits_compute, 0);
        atomic_store(&share.file->index, 0);
        CHECK(share_mend(&share));
        CHECK_EQ(share_current(&share)->devices[0].limit_bytes, 100 * MIB);
        CHECK(atomic_load(&share.file->limits_compute) & SHARE_LIMITS_LAUNCHES);
        CHECK(!share_mend(&share));
        /* A copy that is newer, and not whole, is none. */
        share.file->copies[0].generation = 7;
        CHECK(!share_mend(&share));
        CHECK_EQ(share_current(&share)->devices[0].limit_bytes, 100 * MIB);
        share_close(&share);
        unlink(path);
}

/* A writer is killed over and over; a reader always finds one of the two whole contents. */
TEST(a_writer_killed_anywhere_leaves_the_old_share)
{
        const char *path = fresh_path();
        struct share share;
        struct err e = { 0 };

        make_with(path, 200 * MIB);
        for (unsigned i = 0; i < 200; i++) {
                pid_t pid = fork();
                if (pid == 0) {
                        if (share_open(path, true, &share, &e) < 0)
                                _exit(1);
                        for (uint64_t n = 1;; n++) {
                                struct share_copy copy = content((n % 2 ? 100 : 200) * MIB);
                                share_update(&share, &copy, &e);
                        }
                }
                usleep(500 + i * 7 % 500);
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                CHECK_EQ(share_open(path, false, &share, &e), 0);
                const struct share_copy *copy = share_current(&share);
                CHECK_EQ(copy->devices[0].physical_bytes * 2, copy->devices[0].limit_bytes);
                share_close(&share);
        }
        unlink(path);
}

int main(void)
{
        return RUN(CASE(what_was_written_is_read), CASE(a_change_is_seen_by_those_who_have_it_open),
                   CASE(nonsense_is_not_written), CASE(a_damaged_file_is_refused),
                   CASE(an_owner_makes_right_what_no_checksum_covers),
                   CASE(a_writer_killed_anywhere_leaves_the_old_share));
}
