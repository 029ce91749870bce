/* SPDX-License-Identifier: Apache-2.0 */
/* Users' shares, as root finds them; and what a user may put there instead. */
#include "run_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "scope.h"
#include "unit.h"

#define UUID "GPU-11111111-2222-3333-4444-555555555555"

struct fixture {
        char path[64], user[128], share[192], file[224];
};

static void text_run(const char *format, const char *path)
{
        char command[512];

        snprintf(command, sizeof command, format, path);
        CHECK_EQ(system(command), 0);
}

/* PLACE/vgpu-UID/train, with a share of one GPU in it. */
static void fixture_make(struct fixture *fixture)
{
        struct share_copy copy = { .device_count = 1, .name = "train", .container = "python3" };

        *fixture = (struct fixture){ .path = "/tmp/run-folders-XXXXXX" };
        CHECK(mkdtemp(fixture->path));
        setenv(RUN_FOLDERS_VARIABLE, fixture->path, 1);
        snprintf(fixture->user, sizeof fixture->user, "%s/vgpu-%u", fixture->path, geteuid());
        snprintf(fixture->share, sizeof fixture->share, "%s/train", fixture->user);
        snprintf(fixture->file, sizeof fixture->file, "%s/share", fixture->share);
        CHECK_EQ(mkdir(fixture->user, 0700), 0);
        CHECK_EQ(mkdir(fixture->share, 0700), 0);
        strcpy(copy.devices[0].uuid, UUID);
        copy.devices[0].limit_bytes = copy.devices[0].physical_bytes = 1 << 30;
        copy.devices[0].cores_percent = 30;
        CHECK_EQ(share_create(fixture->file, &copy, NULL), 0);
}

static void fixture_remove(struct fixture *fixture)
{
        text_run("rm -rf '%s'", fixture->path);
        unsetenv(RUN_FOLDERS_VARIABLE);
}

struct seen {
        unsigned count;
        struct user_share share; /* with descriptors of our own */
};

static void on_share(void *owner, const struct user_share *share)
{
        struct seen *seen = owner;

        if (seen->count++ == 0) {
                seen->share = *share;
                seen->share.root = dup(share->root);
                seen->share.folder = dup(share->folder);
        }
}

static struct seen shares_find(void)
{
        struct seen seen = { .share = { .root = -1, .folder = -1 } };

        user_shares_each(on_share, &seen);
        return seen;
}

static void seen_close(struct seen *seen)
{
        close(seen->share.root);
        close(seen->share.folder);
}

static unsigned count(void)
{
        struct seen seen = shares_find();

        seen_close(&seen);
        return seen.count;
}

TEST(a_share_is_found_with_its_user_and_what_it_says)
{
        struct fixture fixture;
        struct share_copy copy;

        fixture_make(&fixture);
        struct seen seen = shares_find();
        CHECK_EQ(seen.count, 1);
        CHECK_EQ(seen.share.user, geteuid());
        CHECK_STR(seen.share.name, "train");
        CHECK_EQ(user_share_read(&seen.share, &copy, NULL), 0);
        CHECK_EQ(copy.device_count, 1);
        CHECK_STR(copy.devices[0].uuid, UUID);
        CHECK_EQ(copy.devices[0].cores_percent, 30);
        seen_close(&seen);
        fixture_remove(&fixture);
}

TEST(a_user_is_called_by_name)
{
        struct fixture fixture;

        if (geteuid() != 0)
                skip();
        fixture_make(&fixture);
        struct seen seen = shares_find();
        CHECK_STR(seen.share.user_name, "root");
        seen_close(&seen);
        fixture_remove(&fixture);
}

TEST(both_forms_of_a_folders_name_count)
{
        struct fixture fixture;
        char home[128], below[160];

        fixture_make(&fixture);
        snprintf(home, sizeof home, "%s/%u", fixture.path, geteuid());
        snprintf(below, sizeof below, "%s/vgpu", home);
        CHECK_EQ(mkdir(home, 0700), 0);
        CHECK_EQ(rename(fixture.user, below), 0);
        CHECK_EQ(count(), 1);
        fixture_remove(&fixture);
}

TEST(links_are_not_followed)
{
        struct fixture fixture;
        char aside[160];

        fixture_make(&fixture);
        snprintf(aside, sizeof aside, "%s/aside", fixture.path);
        CHECK_EQ(rename(fixture.share, aside), 0);
        CHECK_EQ(symlink(aside, fixture.share), 0);
        CHECK_EQ(count(), 0);
        unlink(fixture.share);
        CHECK_EQ(rename(aside, fixture.share), 0);
        CHECK_EQ(rename(fixture.user, aside), 0);
        CHECK_EQ(symlink(aside, fixture.user), 0);
        CHECK_EQ(count(), 0);
        fixture_remove(&fixture);
}

TEST(a_link_instead_of_the_share_file_is_no_share)
{
        struct fixture fixture;
        struct share_copy copy;
        char aside[256];

        fixture_make(&fixture);
        snprintf(aside, sizeof aside, "%s.aside", fixture.file);
        CHECK_EQ(rename(fixture.file, aside), 0);
        CHECK_EQ(symlink(aside, fixture.file), 0);
        struct seen seen = shares_find();
        CHECK_EQ(seen.count, 1);
        CHECK(user_share_read(&seen.share, &copy, NULL) < 0);
        CHECK(user_share_change(&seen.share, &copy, NULL) < 0);
        CHECK(!user_share_is_used(&seen.share));
        seen_close(&seen);
        fixture_remove(&fixture);
}

TEST(a_pipe_instead_of_the_file_does_not_block)
{
        struct fixture fixture;
        struct share_copy copy;

        fixture_make(&fixture);
        unlink(fixture.file);
        CHECK_EQ(mkfifo(fixture.file, 0600), 0);
        struct seen seen = shares_find();
        CHECK_EQ(user_share_read(&seen.share, &copy, NULL), -EPROTO);
        CHECK(user_share_change(&seen.share, &copy, NULL) < 0);
        seen_close(&seen);
        fixture_remove(&fixture);
}

TEST(what_others_can_write_to_is_passed_over)
{
        struct fixture fixture;

        fixture_make(&fixture);
        CHECK_EQ(chmod(fixture.share, 0770), 0);
        CHECK_EQ(count(), 0);
        CHECK_EQ(chmod(fixture.share, 0700), 0);
        CHECK_EQ(chmod(fixture.user, 0707), 0);
        CHECK_EQ(count(), 0);
        fixture_remove(&fixture);
}

TEST(a_folder_in_anothers_name_is_passed_over)
{
        struct fixture fixture;
        char other[128];

        fixture_make(&fixture);
        snprintf(other, sizeof other, "%s/vgpu-%u", fixture.path, geteuid() + 1);
        CHECK_EQ(rename(fixture.user, other), 0);
        CHECK_EQ(count(), 0);
        fixture_remove(&fixture);
}

TEST(odd_names_are_passed_over)
{
        struct fixture fixture;
        static const char *const names[] = { ".hidden", "-rf", "a b", "a\nb", "a\033[31m" };
        char path[256];

        fixture_make(&fixture);
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
                snprintf(path, sizeof path, "%s/%s", fixture.user, names[i]);
                CHECK_EQ(mkdir(path, 0700), 0);
        }
        CHECK_EQ(count(), 1);
        fixture_remove(&fixture);
}

/* Otherwise a user would have as many folders as there are ways to write a number. */
TEST(a_user_has_one_run_folder_below_each_path)
{
        struct fixture fixture;
        char other[384];

        fixture_make(&fixture);
        CHECK_EQ(count(), 1);
        static const char *const ways[] = { "vgpu-0%u", "vgpu-000%u", "vgpu-+%u", "0%u" };
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                char name[256];

                snprintf(name, sizeof name, ways[i], geteuid());
                snprintf(other, sizeof other, "%s/%s", fixture.path, name);
                text_run("mkdir -p '%s/vgpu'", other);
                snprintf(name, sizeof name, "cp -r '%s' '%%s/'", fixture.share);
                text_run(name, other);
                CHECK_EQ(count(), 1);
        }
        fixture_remove(&fixture);
}

TEST(no_more_shares_of_a_user_are_read_than_allowed)
{
        struct fixture fixture;

        fixture_make(&fixture);
        text_run("cd '%s' && mkdir -m 700 $(seq -f many-%%g 400)", fixture.user);
        CHECK_EQ(count(), RUN_FOLDERS_SHARES);
        fixture_remove(&fixture);
}

static void share_write(const struct fixture *fixture, size_t offset, const void *bytes,
                        size_t size)
{
        autoclose int fd = open(fixture->file, O_WRONLY);

        CHECK_EQ(pwrite(fd, bytes, size, (off_t)offset), (ssize_t)size);
}

TEST(a_share_written_by_hand_is_refused_or_made_harmless)
{
        struct fixture fixture;
        struct share_copy copy;
        const uint32_t many = 1u << 30;
        const uint32_t index = 2;

        fixture_make(&fixture);
        struct seen seen = shares_find();
        share_write(&fixture,
                    offsetof(struct share_file, copies) + offsetof(struct share_copy, container),
                    "a\033[2J\n\xff", 7);
        share_write(&fixture,
                    offsetof(struct share_file, copies) + offsetof(struct share_copy, region),
                    "/etc/passwd", 12);
        share_write(&fixture, offsetof(struct share_file, index), &index, sizeof index);
        CHECK_EQ(user_share_read(&seen.share, &copy, NULL), 0);
        CHECK_STR(copy.container, "a?[2J??");
        CHECK(!strstr(copy.region, "passwd"));
        share_write(&fixture,
                    offsetof(struct share_file, copies) + offsetof(struct share_copy, device_count),
                    &many, sizeof many);
        CHECK_EQ(user_share_read(&seen.share, &copy, NULL), -EPROTO);
        CHECK_EQ(truncate(fixture.file, 100), 0);
        CHECK_EQ(user_share_read(&seen.share, &copy, NULL), -EPROTO);
        seen_close(&seen);
        fixture_remove(&fixture);
}

TEST(a_change_reaches_the_user)
{
        struct fixture fixture;
        struct share_copy copy;
        struct share share;

        fixture_make(&fixture);
        struct seen seen = shares_find();
        CHECK_EQ(user_share_read(&seen.share, &copy, NULL), 0);
        copy.devices[0].cores_percent = 60;
        CHECK_EQ(user_share_change(&seen.share, &copy, NULL), 0);
        CHECK_EQ(share_open(fixture.file, false, &share, NULL), 0);
        CHECK_EQ(share_current(&share)->devices[0].cores_percent, 60);
        CHECK_STR(share_current(&share)->container, "python3");
        share_close(&share);
        strcpy(copy.devices[0].uuid, "GPU-other");
        CHECK_EQ(user_share_change(&seen.share, &copy, NULL), -EINVAL);
        seen_close(&seen);
        fixture_remove(&fixture);
}

TEST(a_lock_that_the_user_holds_is_not_waited_for)
{
        struct fixture fixture;
        struct share_copy copy;

        fixture_make(&fixture);
        struct seen seen = shares_find();
        CHECK_EQ(user_share_read(&seen.share, &copy, NULL), 0);
        autoclose int lock = open(fixture.user, O_RDONLY | O_DIRECTORY);
        CHECK_EQ(flock(lock, LOCK_EX), 0);
        CHECK_EQ(user_share_change(&seen.share, &copy, NULL), -EAGAIN);
        CHECK(user_share_is_used(&seen.share));
        seen_close(&seen);
        fixture_remove(&fixture);
}

TEST(a_share_is_used_while_a_process_has_its_lock)
{
        struct fixture fixture;

        fixture_make(&fixture);
        struct seen seen = shares_find();
        CHECK(!user_share_is_used(&seen.share));
        autoclose int held = open(fixture.file, O_RDWR);
        CHECK_EQ(flock(held, LOCK_SH), 0);
        CHECK(user_share_is_used(&seen.share));
        seen_close(&seen);
        fixture_remove(&fixture);
}

int main(void)
{
        return RUN(CASE(a_share_is_found_with_its_user_and_what_it_says),
                   CASE(a_user_is_called_by_name), CASE(both_forms_of_a_folders_name_count),
                   CASE(links_are_not_followed), CASE(a_link_instead_of_the_share_file_is_no_share),
                   CASE(a_pipe_instead_of_the_file_does_not_block),
                   CASE(what_others_can_write_to_is_passed_over),
                   CASE(a_folder_in_anothers_name_is_passed_over), CASE(odd_names_are_passed_over),
                   CASE(a_user_has_one_run_folder_below_each_path),
                   CASE(no_more_shares_of_a_user_are_read_than_allowed),
                   CASE(a_share_written_by_hand_is_refused_or_made_harmless),
                   CASE(a_change_reaches_the_user),
                   CASE(a_lock_that_the_user_holds_is_not_waited_for),
                   CASE(a_share_is_used_while_a_process_has_its_lock));
}
