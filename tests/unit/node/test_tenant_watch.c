/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the watch over files that a container can write: what it adds is cut before the next sample would see it, and
 * counted. */
#include "tenant_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "book_bench.h"
#include "clock.h"
#include "gpu_page.h"
#include "region.h"

static const off_t full[TENANT_FILES] = { sizeof(struct region_file),
                                          sizeof(struct gpu_want_file) };

struct stage {
        struct book_bench bench;
        struct loop *loop;
        struct tenant_watch watch;
        struct watched_tenant tenant;
        char paths[TENANT_FILES][SHARE_TEXT];
};

static void stage_open(struct stage *stage)
{
        *stage = (struct stage){ 0 };
        book_bench_open(&stage->bench);
        const struct held_share *held = book_bench_put(&stage->bench, "uid", "main", 100, 0);
        CHECK_EQ(loop_new(&stage->loop), 0);
        CHECK_EQ(tenant_watch_open(stage->loop, &stage->watch), 0);
        CHECK_EQ(tenant_watch_add(&stage->watch, &stage->tenant, held->path), 0);
        for (unsigned i = 0; i < TENANT_FILES; i++) {
                tenant_files_path(held->path, i, stage->paths[i]);
                CHECK_EQ(truncate(stage->paths[i], full[i]), 0); /* as programs leave them */
        }
}

static void stage_close(struct stage *stage)
{
        tenant_watch_remove(&stage->watch, &stage->tenant);
        tenant_watch_close(&stage->watch);
        loop_free(stage->loop);
        book_bench_close(&stage->bench);
}

static off_t file_bytes(const char *path)
{
        struct stat status;

        CHECK_EQ(stat(path, &status), 0);
        return status.st_size;
}

/* Steps of the loop until the file is no longer than it was; nothing here samples. */
static bool is_cut(struct stage *stage, unsigned index)
{
        for (int i = 0; i < 1000 && file_bytes(stage->paths[index]) > full[index]; i++)
                loop_step(stage->loop, NS_PER_MS);
        return file_bytes(stage->paths[index]) == full[index];
}

TEST(what_a_container_adds_to_its_files_is_cut_by_notice)
{
        struct stage stage;

        stage_open(&stage);
        for (unsigned i = 0; i < TENANT_FILES; i++) {
                const int fd = open(stage.paths[i], O_WRONLY | O_APPEND);

                for (int again = 0; again < 3; again++) {
                        CHECK_EQ(write(fd, (char[4096]){ 1 }, 4096), 4096);
                        CHECK(is_cut(&stage, i));
                }
                CHECK_EQ(ftruncate(fd, full[i] + (off_t)(64 * MIB)), 0);
                CHECK(is_cut(&stage, i));
                close(fd);
        }
        CHECK_EQ(tenant_watch_take(&stage.tenant, stage.tenant.share_path),
                 2 * (3 * 4096 + 64 * MIB));
        CHECK_EQ(tenant_watch_take(&stage.tenant, stage.tenant.share_path), 0);
        stage_close(&stage);
}

/* A mapping is written to without a notice: programs do that for every allocation. */
TEST(what_programs_write_rings_nothing)
{
        struct region region;
        struct stage stage;

        stage_open(&stage);
        CHECK_EQ(region_open(stage.paths[0], 1, &region, NULL), 0);
        for (int i = 0; i < 100; i++)
                loop_step(stage.loop, NS_PER_MS); /* what was written before */
        tenant_watch_take(&stage.tenant, stage.tenant.share_path);
        for (int i = 0; i < 1000; i++)
                atomic_fetch_add(&region.file->slots_high, 1);
        msync(region.file, 4096, MS_SYNC);
        CHECK_EQ(loop_step(stage.loop, 0), 0);
        CHECK(!stage.watch.pause.is_set);
        region_close(&region);
        stage_close(&stage);
}

/* One who writes without end has its files checked now and then, and no more. */
TEST(between_two_checks_there_is_a_pause)
{
        struct stage stage;

        stage_open(&stage);
        const int fd = open(stage.paths[0], O_WRONLY | O_APPEND);
        const uint64_t began_ns = clock_now_ns();
        unsigned rounds = 0, checks = 0;
        while (clock_now_ns() < began_ns + 100 * NS_PER_MS) {
                CHECK_EQ(write(fd, "x", 1), 1);
                loop_step(stage.loop, 0);
                rounds++;
                checks += file_bytes(stage.paths[0]) == full[0];
        }
        CHECK_EQ(tenant_watch_take(&stage.tenant, stage.tenant.share_path), rounds);
        CHECK(checks > 0 && checks <= (clock_now_ns() - began_ns) / (5 * NS_PER_MS) + 2);
        close(fd);
        stage_close(&stage);
}

int main(void)
{
        return RUN(CASE(what_a_container_adds_to_its_files_is_cut_by_notice),
                   CASE(what_programs_write_rings_nothing),
                   CASE(between_two_checks_there_is_a_pause));
}
