/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of files that somebody else writes to while they are opened and read: what was checked is what is
 * used. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu_page.h"
#include "region.h"
#include "region_view.h"
#include "share.h"
#include "unit.h"

enum { TRIES = 3000, HUGE = 0x7fffffff };

/* Somebody who turns a word over and over: what is right, and what is not. */
struct mover {
        uint32_t *word;
        uint32_t right, wrong;
        _Atomic bool is_ending;
        pthread_t thread;
};

static void *move(void *argument)
{
        struct mover *mover = argument;

        for (uint32_t i = 0; !atomic_load(&mover->is_ending); i++)
                __atomic_store_n(mover->word, i & 1 ? mover->right : mover->wrong,
                                 __ATOMIC_SEQ_CST);
        __atomic_store_n(mover->word, mover->right, __ATOMIC_SEQ_CST);
        return NULL;
}

static void mover_begin(struct mover *mover, uint32_t *word, uint32_t right, uint32_t wrong)
{
        *mover = (struct mover){ .word = word, .right = right, .wrong = wrong };
        assert_int_equal(pthread_create(&mover->thread, NULL, move, mover), 0);
}

static void mover_end(struct mover *mover)
{
        atomic_store(&mover->is_ending, true);
        pthread_join(mover->thread, NULL);
}

TEST(a_region_never_has_more_devices_than_there_can_be)
{
        static struct region own, opened, seen;
        struct mover mover;
        struct err e = { 0 };
        char path[64];
        int count = 0;

        snprintf(path, sizeof path, "/dev/shm/vgpu-test-moving-%d", getpid());
        unlink(path);
        assert_int_equal(region_open(path, 4, &own, &e), 0);
        mover_begin(&mover, &own.file->device_count, 4, HUGE);
        for (int i = 0; i < TRIES; i++) {
                if (region_open(path, 1, &opened, &e) == 0) {
                        CHECK_EQ(opened.device_count, 4);
                        region_close(&opened);
                        count++;
                }
                assert_int_equal(region_view_open(path, &seen, &e), 0);
                CHECK(seen.device_count == 4 || seen.device_count == REGION_DEVICES);
                region_view_close(&seen);
        }
        mover_end(&mover);
        CHECK(count > 0);
        region_close(&own);
        unlink(path);
}

static void share_make(const char *path, struct share *ret_share)
{
        struct share_copy copy = { .device_count = 1, .name = "test" };
        struct err e = { 0 };

        strcpy(copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = SHARE_UNLIMITED;
        unlink(path);
        assert_int_equal(share_create(path, &copy, &e), 0);
        assert_int_equal(share_open(path, true, ret_share, &e), 0);
}

TEST(a_share_is_opened_and_read_as_it_was_checked)
{
        struct share own, other;
        struct share_copy copy;
        struct mover mover;
        struct err e = { 0 };
        char path[64];
        int count = 0;

        snprintf(path, sizeof path, "/tmp/vgpu-test-moving-%d", getpid());
        share_make(path, &own);
        mover_begin(&mover, &own.file->copies[0].device_count, 1, HUGE);
        for (int i = 0; i < TRIES; i++) {
                if (share_open(path, false, &other, &e) < 0)
                        continue;
                CHECK(share_find_device(share_current(&other), "GPU-2") == -1);
                CHECK(share_limits_compute(share_current(&other)) == 0);
                CHECK(share_device_count(share_current(&other)) <= SHARE_DEVICES);
                if (share_read(&other, &copy, &e) == 0) {
                        CHECK_EQ(copy.device_count, 1);
                        count++;
                }
                share_close(&other);
        }
        mover_end(&mover);
        CHECK_EQ(share_read(&own, &copy, &e), 0);
        CHECK(count > 0);
        share_close(&own);
        unlink(path);
}

TEST(the_copy_that_is_not_in_use_is_not_read_without_a_check)
{
        struct share own;
        struct share_copy copy = { .generation = 7 };
        struct err e = { 0 };
        char path[64];

        snprintf(path, sizeof path, "/tmp/vgpu-test-moving-%d", getpid());
        share_make(path, &own);
        memset((void *)&own.file->copies[1], 0xff, sizeof own.file->copies[1]);
        atomic_store(&own.file->index, 1);
        CHECK_EQ(share_read(&own, &copy, &e), -EPROTO);
        CHECK_EQ(copy.generation, 7); /* untouched */
        CHECK_EQ(share_device_count(share_current(&own)), SHARE_DEVICES);
        CHECK_EQ(share_find_device(share_current(&own), "GPU-1"), -1);
        share_limits_compute(share_current(&own));
        atomic_store(&own.file->index, 0);
        CHECK_EQ(share_read(&own, &copy, &e), 0);
        CHECK_EQ(copy.generation, share_generation(&own));
        share_close(&own);
        unlink(path);
}

TEST(pages_are_never_more_than_were_mapped)
{
        const struct gpu_device device = { 0 };
        struct gpu_grant_file *grants;
        struct gpu_want_file *wants;
        struct err e = { 0 };
        char grant[64], want[64];

        snprintf(grant, sizeof grant, "/tmp/vgpu-test-grant-%d", getpid());
        snprintf(want, sizeof want, "/tmp/vgpu-test-want-%d", getpid());
        unlink(grant);
        unlink(want);
        assert_int_equal(gpu_page_create(grant, want, "here", &device, 1, &e), 0);
        assert_int_equal(gpu_grant_map(grant, PROT_READ | PROT_WRITE, &grants, &e), 0);
        assert_int_equal(gpu_want_map(want, &wants, &e), 0);
        CHECK_EQ(gpu_grant_count(grants), 1);
        grants->device_count = wants->device_count = HUGE;
        CHECK_EQ(gpu_grant_count(grants), SHARE_DEVICES);
        CHECK_EQ(gpu_want_count(wants), SHARE_DEVICES);
        gpu_grant_unmap(grants);
        gpu_want_unmap(wants);
        CHECK_EQ(gpu_want_map(want, &wants, &e), -EPROTO);
        unlink(grant);
        unlink(want);
}

int main(void)
{
        return RUN(CASE(a_region_never_has_more_devices_than_there_can_be),
                   CASE(a_share_is_opened_and_read_as_it_was_checked),
                   CASE(the_copy_that_is_not_in_use_is_not_read_without_a_check),
                   CASE(pages_are_never_more_than_were_mapped));
}
