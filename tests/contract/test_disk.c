/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of files that are written to through a mapping, where there is no space for them, or where a process must
 * not make large files: a negative errno, never a signal. */
#include "gpu_page.h"
#include "region.h"
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"

#define MIB (UINT64_C(1) << 20)

/* A file system of that many KiB, for this process alone. */
static void disk_mount(unsigned kib)
{
        char options[64];

        snprintf(options, sizeof options, "size=%uk", kib);
        child_mount(folder, "tmpfs", options);
}

static void disk_fill(void)
{
        static const char block[4096] = { 1 };
        const int fd = open(path_of("filling"), O_WRONLY | O_CREAT | O_APPEND, 0600);

        while (write(fd, block, sizeof block) > 0)
                ;
        close(fd);
}

static void region_on_a_full_disk(void)
{
        struct region region;
        struct err e = { 0 };
        uint64_t inode;

        disk_mount(64);
        disk_fill();
        EXPECT(region_open(path_of("region"), 2, &region, &e) == -ENOSPC);
        EXPECT(strstr(e.text, "No space left on device"));
        unlink(path_of("region"));
        EXPECT(region_create(path_of("region"), &inode, &e) == -ENOSPC);
        EXPECT(access(path_of("region"), F_OK) < 0);
}

TEST(a_region_is_refused_where_the_disk_is_full)
{
        check(region_on_a_full_disk);
}

static void slot_on_a_full_disk(void)
{
        static struct region first, second;
        struct err e = { 0 };

        disk_mount(1024);
        EXPECT(region_open(path_of("region"), 1, &first, &e) == 0 && region_join(&first) == 0);
        disk_fill();
        EXPECT(region_open(path_of("region"), 1, &second, &e) == 0);
        EXPECT(region_join(&second) == -ENOSPC);
        EXPECT(region_charge(&first, 0, REGION_DEVICE, MIB, MIB) == 0);
        EXPECT(region_charge(&first, 0, REGION_DEVICE, 1, MIB) == -ENOMEM);
        EXPECT(region_reap(&first) == 0);
        region_refund(&first, 0, REGION_DEVICE, MIB);
        region_close(&first);
        /* Its slot has its blocks. */
        EXPECT(region_join(&second) == 0);
        region_close(&second);
}

TEST(a_process_is_refused_where_the_disk_is_full_and_those_that_run_go_on)
{
        check(slot_on_a_full_disk);
}

static void pages_on_a_full_disk(void)
{
        const struct gpu_device devices[3] = { 0 };
        char grant[96], want[96];
        struct err e = { 0 };

        disk_mount(64);
        disk_fill();
        snprintf(grant, sizeof grant, "%s", path_of("grant"));
        snprintf(want, sizeof want, "%s", path_of("want"));
        EXPECT(gpu_page_create(grant, want, "m", devices, 3, &e) == -ENOSPC);
        EXPECT(access(grant, F_OK) < 0 && access(want, F_OK) < 0);
}

TEST(gpu_pages_are_refused_where_the_disk_is_full)
{
        check(pages_on_a_full_disk);
}

/* The disk is filled between making and use. */
static void pages_before_the_disk_is_full(void)
{
        const struct gpu_device devices[3] = { 0 };
        struct gpu_want_file *wants;
        char grant[96], want[96];
        struct err e = { 0 };

        disk_mount(256);
        snprintf(grant, sizeof grant, "%s", path_of("grant"));
        snprintf(want, sizeof want, "%s", path_of("want"));
        EXPECT(gpu_page_create(grant, want, "m", devices, 3, &e) == 0);
        disk_fill();
        EXPECT(gpu_want_map(want, &wants, &e) == 0);
        for (unsigned i = 0; i < 3; i++)
                atomic_store(&wants->devices[i].slots[GPU_SLOTS - 1].busy_ns, 1);
        gpu_want_unmap(wants);
}

TEST(gpu_pages_that_were_made_can_be_written)
{
        check(pages_before_the_disk_is_full);
}

static void files_most(uint64_t bytes)
{
        const struct rlimit most = { bytes, bytes };

        EXPECT(setrlimit(RLIMIT_FSIZE, &most) == 0);
}

static void region_beyond_the_limit_of_files(void)
{
        struct region region;
        struct err e = { 0 };
        uint64_t inode;

        files_most(4096);
        EXPECT(region_open(path_of("region"), 1, &region, &e) == -EFBIG);
        EXPECT(strstr(e.text, "File too large"));
        unlink(path_of("region"));
        EXPECT(region_create(path_of("region"), &inode, &e) == -EFBIG);
}

TEST(a_process_that_must_not_write_large_files_gets_no_signal)
{
        check(region_beyond_the_limit_of_files);
}

static void region_made_by_another(void)
{
        struct region region;
        struct err e = { 0 };
        uint64_t inode;

        EXPECT(region_create(path_of("region"), &inode, &e) == 0);
        files_most(4096);
        EXPECT(region_open(path_of("region"), 1, &region, &e) == 0 && region_join(&region) == 0);
        EXPECT(region_charge(&region, 0, REGION_DEVICE, MIB, MIB) == 0);
        region_close(&region);
        unlink(path_of("region"));
}

TEST(a_process_that_must_not_write_large_files_uses_a_region_that_is_there)
{
        check(region_made_by_another);
}

int main(void)
{
        return RUN(CASE(a_region_is_refused_where_the_disk_is_full),
                   CASE(a_process_is_refused_where_the_disk_is_full_and_those_that_run_go_on),
                   CASE(gpu_pages_are_refused_where_the_disk_is_full),
                   CASE(gpu_pages_that_were_made_can_be_written),
                   CASE(a_process_that_must_not_write_large_files_gets_no_signal),
                   CASE(a_process_that_must_not_write_large_files_uses_a_region_that_is_there));
}
