/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the book of shares: what it holds is what lies in its folders. */
#include "share_book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "container_paths.h"
#include "file_lease.h"
#include "share_folder.h"
#include "unit.h"

#define MIB (UINT64_C(1) << 20)
#define UID "6f1b2c3d-0000-4000-8000-000000000001"

static const struct gpu_device gpu_devices[2] = { { 4096 * MIB, 1 }, { 4096 * MIB, 1 } };

/* A folder of the test's own, empty. */
static const char *fresh_folder(void)
{
        static char folder[64];
        static int number;

        snprintf(folder, sizeof folder, "/dev/shm/vgpu-test-book-%d-%d", getpid(), ++number);
        return folder;
}

static void folder_remove(const char *folder)
{
        char command[128];

        snprintf(command, sizeof command, "rm -r '%s'", folder);
        CHECK_EQ(system(command), 0);
}

static struct share_copy content(const char *pod_namespace, const char *uid, const char *container)
{
        struct share_copy copy = { .device_count = 1, .origin = 7 };

        snprintf(copy.pod_uid, sizeof copy.pod_uid, "%s", uid);
        snprintf(copy.pod_namespace, sizeof copy.pod_namespace, "%s", pod_namespace);
        snprintf(copy.pod_name, sizeof copy.pod_name, "train");
        snprintf(copy.container, sizeof copy.container, "%s", container);
        snprintf(copy.devices[0].uuid, sizeof copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = copy.devices[0].physical_bytes = 200 * MIB;
        return copy;
}

static struct share_book *book_open(const char *folder, const char *boot)
{
        struct share_book *book = NULL;
        struct err e = { 0 };

        if (share_book_open(folder, boot, &book, &e) < 0)
                fail_msg("%s", e.text);
        return book;
}

static struct held_share *put(struct share_book *book, const char *pod_namespace, const char *uid,
                              const char *container)
{
        const struct share_copy copy = content(pod_namespace, uid, container);
        struct held_share *held = NULL;
        struct err e = { 0 };

        if (share_book_make(book, &copy, gpu_devices, &held, &e) < 0)
                fail_msg("%s", e.text);
        return held;
}

/* As its container has it. */
static void region_of(const struct held_share *held, struct region *ret_region)
{
        char path[SHARE_TEXT];

        share_folder_beside(held->path, "region", path);
        CHECK_EQ(region_open(path, 1, ret_region, NULL), 0);
}

static mode_t mode_of(const struct held_share *held, const char *name)
{
        char path[SHARE_TEXT];
        struct stat status;

        snprintf(path, sizeof path, "%.*s%s", (int)(strrchr(held->path, '/') - held->path + 1),
                 held->path, name);
        return stat(path, &status) < 0 ? 0 : status.st_mode & 0777;
}

TEST(a_share_is_found_by_its_container_and_by_its_name)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        struct held_share *held = put(book, "ns", UID, "main");

        CHECK_STR(held->name, "train.main");
        CHECK(share_book_find(book, UID, "main") == held);
        CHECK(share_book_find_name(book, "train.main") == held);
        CHECK(!share_book_find(book, UID, "other"));
        CHECK(!share_book_find(book, "6f1b2c3d", "main"));
        CHECK_EQ(share_book_count(book), 1);
        CHECK_STR(share_current(&held->share)->region, CONTAINER_REGION);
        share_book_close(book);
        folder_remove(folder);
}

TEST(the_containers_processes_write_their_region_and_never_the_share)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        struct held_share *held = put(book, "ns", UID, "main");
        struct region region;

        CHECK_EQ(mode_of(held, "share"), 0644);
        CHECK_EQ(mode_of(held, "grant"), 0644);
        CHECK_EQ(mode_of(held, "region"), 0666);
        CHECK_EQ(mode_of(held, "want"), 0666);
        region_of(held, &region);
        CHECK_EQ(region.identity.inode, share_current(&held->share)->region_inode);
        region_close(&region);
        share_book_close(book);
        folder_remove(folder);
}

TEST(pods_of_one_name_in_two_namespaces_have_two_names)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        struct held_share *a = put(book, "a", UID, "main");
        struct held_share *b = put(book, "b", "7777777777777-8", "main");

        CHECK_STR(a->name, "train.main");
        CHECK_STR(b->name, "train.main.7777777777777");
        share_book_close(book);
        folder_remove(folder);
}

TEST(a_book_that_is_opened_again_holds_what_it_held)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        struct err e = { 0 };

        struct held_share *held = put(book, "ns", UID, "main");
        put(book, "ns", UID, "side");
        const uint64_t inode = share_current(&held->share)->region_inode;
        struct share_copy copy = content("ns", UID, "main");
        copy.devices[0].limit_bytes = 300 * MIB;
        CHECK_EQ(share_book_change(book, held, &copy, &e), 0);
        share_book_close(book);

        book = book_open(folder, "boot");
        CHECK_EQ(share_book_count(book), 2);
        held = share_book_find(book, UID, "main");
        CHECK(held && share_book_find(book, UID, "side"));
        CHECK_EQ(share_current(&held->share)->devices[0].limit_bytes, 300 * MIB);
        CHECK_EQ(share_current(&held->share)->region_inode, inode);
        share_book_close(book);
        folder_remove(folder);
}

TEST(a_region_of_another_boot_is_made_anew_and_the_share_stays)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot-1");
        struct held_share *held = put(book, "ns", UID, "main");
        struct region region;

        region_of(held, &region);
        CHECK_EQ(region_join(&region), 0);
        CHECK_EQ(region_charge(&region, 0, REGION_DEVICE, MIB, 200 * MIB), 0);
        region.slot = 0; /* as if it had died */
        region_close(&region);
        share_book_close(book);

        book = book_open(folder, "boot-2");
        held = share_book_find(book, UID, "main");
        CHECK(held);
        region_of(held, &region);
        CHECK_EQ(region_used_bytes(&region, 0), 0);
        CHECK_EQ(region.identity.inode, share_current(&held->share)->region_inode);
        CHECK_EQ(share_current(&held->share)->devices[0].limit_bytes, 200 * MIB);
        region_close(&region);
        share_book_close(book);
        folder_remove(folder);
}

TEST(a_change_leaves_identity_region_and_devices_alone)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        struct held_share *held = put(book, "ns", UID, "main");
        const uint64_t inode = share_current(&held->share)->region_inode;
        struct share_copy other = content("x", "9", "y");
        struct err e = { 0 };

        CHECK_EQ(share_book_change(book, held, &other, &e), 0);
        CHECK_STR(share_current(&held->share)->pod_uid, UID);
        CHECK_STR(share_current(&held->share)->name, "train.main");
        CHECK_EQ(share_current(&held->share)->region_inode, inode);
        CHECK_EQ(share_current(&held->share)->generation, 2);
        snprintf(other.devices[0].uuid, sizeof other.devices[0].uuid, "GPU-2");
        CHECK_EQ(share_book_change(book, held, &other, &e), -EINVAL);
        CHECK_STR(e.text, "the GPUs of share 'train.main' cannot change");
        share_book_close(book);
        folder_remove(folder);
}

struct heard {
        struct share_listener listener;
        char story[64];
};

static void on_share(struct share_listener *listener, enum share_change change,
                     struct held_share *held)
{
        struct heard *heard = container_of(listener, struct heard, listener);
        const size_t length = strlen(heard->story);

        snprintf(heard->story + length, sizeof heard->story - length, "%s%s ",
                 (const char *[]){ "made ", "changed ", "gone " }[change],
                 mode_of(held, "share") ? held->container : "without files");
}

TEST(listeners_hear_of_every_change_while_the_files_are_there)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        struct heard heard = { .listener.on_share = on_share };
        const struct share_copy copy = content("ns", UID, "main");

        share_book_listen(book, &heard.listener);
        struct held_share *held = put(book, "ns", UID, "main");
        CHECK_EQ(share_book_change(book, held, &copy, NULL), 0);
        share_book_remove(book, held);
        CHECK_STR(heard.story, "made main changed main gone main ");
        CHECK(!share_book_find(book, UID, "main"));
        share_book_unlisten(&heard.listener);
        put(book, "ns", UID, "main"); /* again, as if it had never been */
        CHECK_STR(heard.story, "made main changed main gone main ");
        share_book_close(book);
        folder_remove(folder);
}

TEST(what_was_half_made_is_made_anew)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        char path[SHARE_TEXT];

        snprintf(path, sizeof path, "%s", put(book, "ns", UID, "main")->path);
        share_book_close(book);
        CHECK_EQ(truncate(path, 100), 0);
        book = book_open(folder, "boot");
        CHECK_EQ(share_book_count(book), 0);
        put(book, "ns", UID, "main");
        share_book_close(book);
        folder_remove(folder);
}

TEST(a_name_that_leads_elsewhere_is_refused)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        static const char *const names[] = { "..", "a/b", "", ".x", "a b" };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                const struct share_copy copy = content("ns", UID, names[i]);
                struct held_share *held;
                struct err e;

                CHECK_EQ(share_book_make(book, &copy, gpu_devices, &held, &e), -EINVAL);
        }
        share_book_close(book);
        folder_remove(folder);
}

TEST(a_share_under_another_containers_name_is_not_taken_in)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        char from[128], to[128];

        put(book, "ns", UID, "main");
        share_book_close(book);
        snprintf(from, sizeof from, "%s/shares/" UID "/main", folder);
        snprintf(to, sizeof to, "%s/shares/" UID "/side", folder);
        CHECK_EQ(rename(from, to), 0);
        book = book_open(folder, "boot");
        CHECK_EQ(share_book_count(book), 0);
        share_book_close(book);
        folder_remove(folder);
}

TEST(a_share_that_its_container_holds_back_is_taken_in_later_and_nobody_waits)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        const struct share_copy copy = content("ns", UID, "main");
        struct held_share *held = put(book, "ns", UID, "main");
        struct lease lease;
        struct err e = { 0 };
        char path[SHARE_TEXT];

        put(book, "ns", UID, "other");
        snprintf(path, sizeof path, "%s", held->path);
        share_book_close(book);
        lease_take(path, &lease);
        const uint64_t began_ns = clock_now_ns();
        book = book_open(folder, "boot");
        CHECK(clock_now_ns() - began_ns < 5 * NS_PER_S);
        CHECK(share_book_find(book, UID, "other"));
        CHECK(!share_book_find(book, UID, "main"));
        CHECK(share_book_retry(book));
        CHECK_EQ(share_book_make(book, &copy, gpu_devices, &held, &e), -EAGAIN);
        lease_end(&lease);
        CHECK(!share_book_retry(book));
        held = share_book_find(book, UID, "main");
        CHECK(held);
        CHECK_STR(held->path, path);
        share_book_close(book);
        folder_remove(folder);
}

TEST(a_share_that_its_container_holds_back_again_and_again_is_taken_in)
{
        enum { TRIES = 500, TRY_US = 10000 };
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        struct held_share *held = put(book, "ns", UID, "main");
        struct lease lease;
        char path[SHARE_TEXT];
        bool is_left = true;

        snprintf(path, sizeof path, "%s", held->path);
        share_book_close(book);
        lease_take_as(path, true, &lease);
        book = book_open(folder, "boot");
        for (int i = 0; i < TRIES && is_left; i++) {
                usleep(TRY_US);
                is_left = share_book_retry(book);
        }
        CHECK(share_book_find(book, UID, "main"));
        lease_end(&lease);
        share_book_close(book);
        folder_remove(folder);
}

static void descriptors_most(rlim_t most)
{
        struct rlimit limit;

        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = most;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Whatever cannot be opened for want of descriptors is refused or taken in later: never made anew. */
TEST(a_share_for_which_there_is_no_descriptor_stays)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        const uint64_t inode = share_current(&put(book, "ns", UID, "main")->share)->region_inode;
        const struct share_copy copy = content("ns", UID, "main");
        unsigned refused = 0, delayed = 0;
        struct rlimit before;

        share_book_close(book);
        getrlimit(RLIMIT_NOFILE, &before);
        for (rlim_t most = 3; most < 64; most++) {
                struct held_share *held = NULL;
                struct err e = { 0 };

                descriptors_most(most);
                const int r = share_book_open(folder, "boot", &book, &e);
                descriptors_most(before.rlim_cur);
                refused += r == -EMFILE;
                if (r < 0)
                        continue;
                if (!share_book_find(book, UID, "main")) {
                        delayed++;
                        CHECK_EQ(share_book_make(book, &copy, gpu_devices, &held, &e), -EAGAIN);
                        CHECK(!share_book_retry(book));
                }
                held = share_book_find(book, UID, "main");
                CHECK(held);
                CHECK_EQ(share_current(&held->share)->region_inode, inode);
                share_book_close(book);
        }
        CHECK(refused > 0 && delayed > 0);
        folder_remove(folder);
}

TEST(what_was_decided_is_not_believed_when_it_is_damaged)
{
        const char *folder = fresh_folder();
        struct share_book *book = book_open(folder, "boot");
        struct held_share *held = put(book, "ns", UID, "main");
        char path[SHARE_TEXT];

        CHECK_EQ(held->decided->limit_bytes, 200 * MIB);
        share_folder_beside(held->path, "decided", path);
        share_book_close(book);
        FILE *file = fopen(path, "r+");
        CHECK(file && fseek(file, 6, SEEK_SET) == 0 && fputc(1, file) == 1);
        fclose(file);
        book = book_open(folder, "boot");
        held = share_book_find(book, UID, "main");
        CHECK(held && !held->decided);
        share_book_close(book);
        folder_remove(folder);
}

int main(void)
{
        return RUN(CASE(a_share_is_found_by_its_container_and_by_its_name),
                   CASE(the_containers_processes_write_their_region_and_never_the_share),
                   CASE(pods_of_one_name_in_two_namespaces_have_two_names),
                   CASE(a_book_that_is_opened_again_holds_what_it_held),
                   CASE(a_region_of_another_boot_is_made_anew_and_the_share_stays),
                   CASE(a_change_leaves_identity_region_and_devices_alone),
                   CASE(listeners_hear_of_every_change_while_the_files_are_there),
                   CASE(what_was_half_made_is_made_anew),
                   CASE(a_name_that_leads_elsewhere_is_refused),
                   CASE(a_share_under_another_containers_name_is_not_taken_in),
                   CASE(a_share_that_its_container_holds_back_is_taken_in_later_and_nobody_waits),
                   CASE(a_share_that_its_container_holds_back_again_and_again_is_taken_in),
                   CASE(a_share_for_which_there_is_no_descriptor_stays),
                   CASE(what_was_decided_is_not_believed_when_it_is_damaged));
}
