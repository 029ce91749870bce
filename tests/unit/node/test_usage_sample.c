/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of one sample of a container: an honest region is no violation, and a forged one holds up
 * nobody. */
#include "usage_sample.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "book_bench.h"
#include "clock.h"
#include "gpu_page.h"
#include "share_folder.h"
#include "tenant_files.h"

struct stage {
        struct book_bench bench;
        struct usage_state *state;
        struct region region;
        struct vec processes;
};

static void stage_open(struct stage *stage)
{
        char path[SHARE_TEXT];
        struct usage_process own = { .process = { .pid = (uint32_t)getpid() } };

        *stage = (struct stage){ .processes = VEC_OF(struct usage_process) };
        book_bench_open(&stage->bench);
        own.held = book_bench_put(&stage->bench, "uid", "main", 100, 0);
        strcpy(own.process.uuid, "GPU-1");
        vec_push(&stage->processes, &own);
        stage->state = calloc(1, sizeof *stage->state + sizeof *stage->state->devices);
        stage->state->held = own.held;
        share_folder_beside(own.held->path, "region", path);
        CHECK_EQ(region_open(path, 1, &stage->region, NULL), 0);
}

static void stage_close(struct stage *stage)
{
        region_close(&stage->region);
        free(stage->state);
        vec_done(&stage->processes);
        book_bench_close(&stage->bench);
}

/* This process has the slot. */
static void slot_take(struct stage *stage, uint32_t slot)
{
        struct region_file *file = stage->region.file;

        atomic_store(&file->slots[slot].state, (uint64_t)getpid() << 32 | REGION_LIVE);
        atomic_store(&file->slots[slot].node_pid, (uint32_t)getpid());
        atomic_store(&file->slots_high, slot);
}

static unsigned sample(struct stage *stage)
{
        struct usage_finding finding;

        usage_sample(stage->state, &stage->processes, 0, UINT64_MAX, &finding);
        return finding.seen;
}

TEST(a_process_without_a_process_slot_is_a_stranger)
{
        struct stage stage;

        stage_open(&stage);
        CHECK_EQ(sample(&stage), 1u << VIOLATION_STRANGER);
        slot_take(&stage, 1);
        CHECK_EQ(sample(&stage), 0);
        stage_close(&stage);
}

static void descriptors_most(rlim_t most)
{
        struct rlimit limit;

        CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = most;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(without_descriptors_of_our_own_nobody_is_a_stranger)
{
        struct stage stage;
        struct rlimit before;

        stage_open(&stage);
        slot_take(&stage, 1);
        getrlimit(RLIMIT_NOFILE, &before);
        descriptors_most(0);
        const unsigned seen = sample(&stage);
        descriptors_most(before.rlim_cur);
        CHECK_EQ(seen, 0);
        CHECK_EQ(sample(&stage), 0);
        stage_close(&stage);
}

TEST(the_last_of_thousands_of_processes_is_no_stranger)
{
        struct stage stage;

        stage_open(&stage);
        slot_take(&stage, REGION_SLOTS);
        CHECK_EQ(sample(&stage), 0);
        stage_close(&stage);
}

TEST(a_truncated_region_is_reported)
{
        struct stage stage;
        char path[SHARE_TEXT];

        stage_open(&stage);
        snprintf(path, sizeof path, "%.*sregion", (int)strlen(stage.state->held->path) - 5,
                 stage.state->held->path);
        CHECK_EQ(truncate(path, 4096), 0);
        CHECK(sample(&stage) & 1u << VIOLATION_REGION);
        stage_close(&stage);
}

/* So that vgpu-node cannot read what else is in it. */
TEST(a_region_that_is_none_any_more_is_reported)
{
        struct stage stage;

        stage_open(&stage);
        slot_take(&stage, 1);
        atomic_store(&stage.region.file->magic, 0);
        CHECK(sample(&stage) & 1u << VIOLATION_REGION);
        vec_done(&stage.processes); /* as one that a killed process left half made */
        CHECK_EQ(sample(&stage), 0);
        stage_close(&stage);
}

static void file_grow(struct stage *stage, const char *name, off_t bytes, bool has_size)
{
        char path[SHARE_TEXT];

        share_folder_beside(stage->state->held->path, name, path);
        const int fd = open(path, O_WRONLY);
        CHECK_EQ(fallocate(fd, has_size ? 0 : FALLOC_FL_KEEP_SIZE, 0, bytes), 0);
        close(fd);
}

static off_t file_blocks(struct stage *stage, const char *name)
{
        char path[SHARE_TEXT];
        struct stat status;

        share_folder_beside(stage->state->held->path, name, path);
        CHECK_EQ(stat(path, &status), 0);
        return status.st_blocks * 512;
}

/* Whatever a container writes there, the disk is not its own. */
TEST(files_that_a_container_makes_longer_are_cut)
{
        static const char *const names[] = { "region", "want" };
        struct stage stage;

        stage_open(&stage);
        slot_take(&stage, 1);
        CHECK_EQ(sample(&stage), 0);
        for (int i = 0; i < 2; i++) {
                file_grow(&stage, names[i], 200 * MIB, i);
                CHECK_EQ(sample(&stage), 1u << VIOLATION_REGION);
                CHECK(file_blocks(&stage, names[i]) < (off_t)(100 * MIB));
                CHECK_EQ(sample(&stage), 0);
        }
        stage_close(&stage);
}

/* Every slot of every region, though the share has one device and no process. */
TEST(a_region_made_to_take_long_is_sampled_for_a_moment_only)
{
        const struct vec nobody = VEC_OF(struct usage_process);
        struct usage_finding finding;
        struct stage stage;

        stage_open(&stage);
        stage.region.file->device_count = REGION_DEVICES;
        atomic_store(&stage.region.file->slots_high, REGION_SLOTS);
        const uint64_t began_ns = clock_spent_ns();
        usage_sample(stage.state, &nobody, 0, clock_now_ns() + NS_PER_MS, &finding);
        CHECK(clock_spent_ns() - began_ns < 20 * NS_PER_MS);
        stage_close(&stage);
}

static void driver_says(struct stage *stage, size_t process, uint64_t bytes)
{
        ((struct usage_process *)vec_at(&stage->processes, process))->process.bytes = bytes;
}

static void contexts_exempt(struct stage *stage)
{
        struct share_copy copy;

        memcpy(&copy, share_current(&stage->state->held->share), sizeof copy);
        copy.devices[0].flags |= SHARE_CONTEXT_EXEMPT;
        CHECK_EQ(share_book_change(stage->bench.book, stage->state->held, &copy, NULL), 0);
}

/* Where contexts do not count, a process hides its own context behind that, and nothing else. */
TEST(idle_processes_hide_no_memory_of_others)
{
        struct stage stage;

        stage_open(&stage);
        contexts_exempt(&stage);
        slot_take(&stage, 1);
        driver_says(&stage, 0, 150 * MIB);
        for (int i = 0; i < 10; i++) {
                struct usage_process idle = *(struct usage_process *)vec_at(&stage.processes, 0);

                vec_push(&stage.processes, &idle);
        }
        CHECK_EQ(sample(&stage), 0);
        driver_says(&stage, 0, 9000 * MIB);
        CHECK_EQ(sample(&stage), 1u << VIOLATION_MEMORY);
        stage_close(&stage);
}

TEST(a_context_that_the_region_knows_hides_no_more_than_it_takes)
{
        struct stage stage;

        stage_open(&stage);
        contexts_exempt(&stage);
        slot_take(&stage, 1);
        driver_says(&stage, 0, 900 * MIB);
        CHECK_EQ(sample(&stage), 0);
        atomic_store(&stage.region.file->devices[0].context_bytes, 300 * MIB);
        CHECK_EQ(sample(&stage), 1u << VIOLATION_MEMORY);
        atomic_store(&stage.region.file->devices[0].context_bytes, UINT64_MAX);
        driver_says(&stage, 0, 1500 * MIB);
        CHECK_EQ(sample(&stage), 1u << VIOLATION_MEMORY);
        stage_close(&stage);
}

/* The region adds up, and says what the driver says. */
TEST(a_region_that_admits_more_than_the_limit_hides_nothing)
{
        struct stage stage;
        struct region_charges *charges;
        const uint64_t units = 900 * MIB / REGION_UNIT_BYTES;

        stage_open(&stage);
        slot_take(&stage, 1);
        CHECK_EQ(sample(&stage), 0);
        charges = &stage.region.file->slots[1].charges[0];
        atomic_store(&charges->held, units << REGION_NUMBER_BITS);
        atomic_store(&stage.region.file->devices[0].word,
                     units << (REGION_SLOT_BITS + REGION_NUMBER_BITS));
        driver_says(&stage, 0, 900 * MIB);
        CHECK_EQ(sample(&stage), 1u << VIOLATION_MEMORY);
        stage_close(&stage);
}

/* What it held when its limit was lowered, or when vgpu-node began, is no violation. */
TEST(what_a_lowered_limit_left_is_no_violation)
{
        struct share_copy copy;
        struct stage stage;

        stage_open(&stage);
        slot_take(&stage, 1);
        copy = *share_current(&stage.state->held->share);
        CHECK_EQ(share_book_change(stage.bench.book, stage.state->held, &copy, NULL), 0);
        stage.state->is_first = true;
        driver_says(&stage, 0, 900 * MIB);
        sample(&stage);
        CHECK_EQ(stage.state->devices[0].allowed_bytes, 900 * MIB);
        driver_says(&stage, 0, 50 * MIB);
        sample(&stage);
        CHECK_EQ(stage.state->devices[0].allowed_bytes, 100 * MIB);
        stage_close(&stage);
}

/* A program that goes around the library begins with that, before vgpu-node first looks. */
TEST(what_was_taken_before_the_first_sample_is_a_violation)
{
        struct region_charges *charges;
        struct stage stage;
        const uint64_t units = 900 * MIB / REGION_UNIT_BYTES;

        stage_open(&stage);
        slot_take(&stage, 1);
        charges = &stage.region.file->slots[1].charges[0];
        atomic_store(&charges->held, units << REGION_NUMBER_BITS);
        atomic_store(&stage.region.file->devices[0].word,
                     units << (REGION_SLOT_BITS + REGION_NUMBER_BITS));
        stage.state->is_first = true;
        driver_says(&stage, 0, 900 * MIB);
        for (unsigned i = 0; i < 2; i++)
                CHECK_EQ(sample(&stage), 1u << VIOLATION_MEMORY);
        stage_close(&stage);
}

/* As root, where images can be mounted; its blocks are of 1 MiB. */
static bool disk_mount(const char *folder)
{
        char command[512];

        snprintf(command, sizeof command,
                 "mkdir -p '%s' && truncate -s 64M '%s.image' && PATH=$PATH:/usr/sbin:/sbin "
                 "mkfs.ext4 -q -O bigalloc -C 1048576 '%s.image' && mount -o loop '%s.image' '%s'",
                 folder, folder, folder, folder, folder);
        return getuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
               mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && system(command) == 0;
}

TEST(a_disk_that_gives_large_blocks_is_no_violation)
{
        char folder[64], path[96], image[96];

        snprintf(folder, sizeof folder, "/tmp/vgpu-test-blocks-%d", getpid());
        snprintf(path, sizeof path, "%s/want", folder);
        snprintf(image, sizeof image, "%s.image", folder);
        const bool is_mounted = disk_mount(folder);
        uint64_t cut = 0;
        if (is_mounted) {
                const int fd = open(path, O_RDWR | O_CREAT, 0600);

                CHECK_EQ(ftruncate(fd, sizeof(struct gpu_want_file)), 0);
                CHECK_EQ(fallocate(fd, 0, 0, GPU_PAGE_BYTES), 0);
                close(fd);
                snprintf(path, sizeof path, "%s/share", folder);
                cut = tenant_files_cut(path);
                CHECK_EQ(umount(folder), 0);
        }
        unlink(image);
        rmdir(folder);
        if (!is_mounted)
                skip();
        CHECK_EQ(cut, 0);
}

int main(void)
{
        return RUN(CASE(a_process_without_a_process_slot_is_a_stranger),
                   CASE(without_descriptors_of_our_own_nobody_is_a_stranger),
                   CASE(the_last_of_thousands_of_processes_is_no_stranger),
                   CASE(a_truncated_region_is_reported),
                   CASE(a_region_that_is_none_any_more_is_reported),
                   CASE(files_that_a_container_makes_longer_are_cut),
                   CASE(a_region_made_to_take_long_is_sampled_for_a_moment_only),
                   CASE(idle_processes_hide_no_memory_of_others),
                   CASE(a_context_that_the_region_knows_hides_no_more_than_it_takes),
                   CASE(a_region_that_admits_more_than_the_limit_hides_nothing),
                   CASE(what_a_lowered_limit_left_is_no_violation),
                   CASE(what_was_taken_before_the_first_sample_is_a_violation),
                   CASE(a_disk_that_gives_large_blocks_is_no_violation));
}
