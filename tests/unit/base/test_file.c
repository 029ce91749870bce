/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of file and fd: whole contents, and nothing left behind on failure. */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fd.h"
#include "scope.h"
#include "unit.h"

static char directory[] = "/tmp/vgpu-test-file-XXXXXX";

static const char *path_of(const char *name)
{
        static char path[128];

        snprintf(path, sizeof path, "%s/%s", directory, name);
        return path;
}

static unsigned file_count(void)
{
        DIR *listing = opendir(directory);
        unsigned count = 0;

        for (struct dirent *entry; (entry = readdir(listing));)
                count += entry->d_name[0] != '.';
        closedir(listing);
        return count;
}

TEST(what_was_written_is_read_back)
{
        autofree char *text = NULL;

        CHECK_EQ(file_replace(path_of("a"), "one\n", 4, 0600), 0);
        CHECK_EQ(file_replace(path_of("a"), "three\n", 6, 0600), 0);
        CHECK_EQ(file_read(path_of("a"), &text), 0);
        CHECK_STR(text, "three\n");
        CHECK_EQ(file_count(), 1);
        unlink(path_of("a"));
}

TEST(an_empty_file_is_an_empty_string)
{
        autofree char *text = NULL;

        CHECK_EQ(file_replace(path_of("empty"), "", 0, 0600), 0);
        CHECK_EQ(file_read(path_of("empty"), &text), 0);
        CHECK_STR(text, "");
        unlink(path_of("empty"));
}

TEST(a_large_file_with_zero_bytes_is_read_whole)
{
        static char bytes[100000];
        autofree char *text = NULL;
        size_t length;

        memset(bytes, 'x', sizeof bytes);
        bytes[5] = '\0';
        CHECK_EQ(file_replace(path_of("large"), bytes, sizeof bytes, 0600), 0);
        autoclose int fd = open(path_of("large"), O_RDONLY | O_CLOEXEC);
        CHECK_EQ(fd_read_all(fd, &text, &length), 0);
        CHECK_EQ(length, sizeof bytes);
        assert_memory_equal(text, bytes, sizeof bytes);
        unlink(path_of("large"));
}

TEST(a_missing_file_leaves_the_output_alone)
{
        char *text = (char *)1;

        CHECK_EQ(file_read(path_of("missing"), &text), -ENOENT);
        CHECK(text == (char *)1);
}

TEST(a_failed_replace_leaves_nothing)
{
        CHECK_EQ(file_replace(path_of("no/such/folder"), "x", 1, 0600), -ENOENT);
        CHECK_EQ(file_count(), 0);
        CHECK_EQ(file_replace("/dev/full/x", "x", 1, 0600), -ENOTDIR);
}

TEST(a_successor_has_its_predecessors_mode_and_owner)
{
        struct stat old, new;
        const mode_t mask = umask(077);

        CHECK_EQ(file_replace(path_of("file"), "old", 3, 0600), 0);
        CHECK_EQ(chmod(path_of("file"), 0644), 0);
        CHECK_EQ(stat(path_of("file"), &old), 0);
        CHECK_EQ(file_replace_like(path_of("file"), "new", 3, &old), 0);
        umask(mask);
        CHECK_EQ(stat(path_of("file"), &new), 0);
        CHECK_EQ(new.st_mode, old.st_mode);
        CHECK_EQ(new.st_uid, old.st_uid);
        CHECK(new.st_ino != old.st_ino);
        unlink(path_of("file"));
}

TEST(a_full_disk_is_reported)
{
        autoclose int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

        CHECK_EQ(fd_write_all(fd, "x", 1), -ENOSPC);
}

int main(void)
{
        if (!mkdtemp(directory))
                return 1;
        int r = RUN(CASE(what_was_written_is_read_back), CASE(an_empty_file_is_an_empty_string),
                    CASE(a_large_file_with_zero_bytes_is_read_whole),
                    CASE(a_missing_file_leaves_the_output_alone),
                    CASE(a_failed_replace_leaves_nothing),
                    CASE(a_successor_has_its_predecessors_mode_and_owner),
                    CASE(a_full_disk_is_reported));
        rmdir(directory);
        return r;
}
