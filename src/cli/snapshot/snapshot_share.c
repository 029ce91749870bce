/* SPDX-License-Identifier: Apache-2.0 */
/* Shares as their files say. */
#include "snapshot_share.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "gpu_page.h"
#include "region_compute.h"
#include "region_view.h"
#include "run_folder.h"
#include "run_folders.h"
#include "scope.h"
#include "share_memory.h"
#include "share_query.h"
#include "str.h"

enum {
        SAMPLE_MS = 1000,
        SLOTS_MOST = 512, /* of another user's region: it can say that there are thousands */
};

static void timeslices_read(const struct gpu_grant *grant, struct share_gpu *gpu)
{
        gpu->timeslices = atomic_load(&grant->timeslices);
        gpu->timeslice_held_ns = atomic_load(&grant->held_ns);
        gpu->timeslice_waited_ns = atomic_load(&grant->waited_ns);
        gpu->timeslices_lapsed = atomic_load(&grant->lapses);
        gpu->timeslice_quantum_ns = atomic_load(&grant->quantum_ns);
        gpu->timeslice_swap_ns = atomic_load(&grant->swap_ns);
}

static double second_percent(uint64_t ns)
{
        return 100.0 * (double)ns / (SAMPLE_MS * (double)NS_PER_MS);
}

static void use_read(const struct region *region, unsigned device, bool is_own,
                     struct share_gpu *gpu)
{
        const uint64_t now_ns = clock_now_ns();
        const struct region_compute *compute = &region->file->computes[device];

        /* Another user's region could have us check thousands of processes. */
        uint64_t (*held)(const struct region *, unsigned) =
                is_own ? share_query_held_bytes : region_used_bytes;

        gpu->physical_bytes = held(region, device);
        gpu->virtual_bytes = held(region, region_virtual(device));
        gpu->refusals = atomic_load(&region->file->devices[device].refusals);
        gpu->gpu_ns = atomic_load(&compute->gpu_ns);
        gpu->throttled_ns = atomic_load(&compute->throttled_ns);
        gpu->cores_used_percent =
                second_percent(region_compute_used_ns(compute, now_ns, SAMPLE_MS));
        gpu->throttled_percent =
                second_percent(region_compute_throttled_ns(compute, now_ns, SAMPLE_MS));
        gpu->has_ended = now_ns - atomic_load(&region->file->ended_ns) < 2 * SAMPLE_MS * NS_PER_MS;
}

static void limits_read(const struct share_device *device, struct share_gpu *gpu)
{
        const uint64_t whole = share_memory_whole(device);

        str_copy(gpu->uuid, sizeof gpu->uuid, device->uuid);
        gpu->total_bytes = device->device_bytes;
        gpu->limit_bytes = device->limit_bytes;
        gpu->physical_limit_bytes = device->physical_bytes;
        gpu->virtual_limit_bytes =
                whole == SHARE_UNLIMITED ? SHARE_UNLIMITED : whole - device->physical_bytes;
        gpu->cores_percent = device->cores_percent;
        gpu->cores_max_percent = share_cap_percent(device);
        gpu->is_latency = device->flags & SHARE_LATENCY;
        gpu->is_oversold = device->flags & SHARE_OVERSOLD;
        gpu->copies_count = device->flags & SHARE_COPIES_COUNT;
}

void share_gpus_read(const struct share_copy *copy, const struct region *region, bool is_own,
                     struct vec *gpus)
{
        const unsigned count = share_device_count(copy);

        for (unsigned i = 0; i < count; i++) {
                struct share_gpu gpu = { .cores_used_ns = SNAPSHOT_UNKNOWN,
                                         .cores_lost_ns = SNAPSHOT_UNKNOWN };

                limits_read(&copy->devices[i], &gpu);
                if (region)
                        use_read(region, i, is_own, &gpu);
                vec_push(gpus, &gpu);
        }
}

/* What has no note of its own (pools, what is being measured) is other. */
static void kinds_read(const struct region *region, uint32_t slot, struct process_gpu *use)
{
        struct region_charges *charges = &region->file->slots[slot].charges[use->gpu];
        const uint64_t held = region_held_bytes(region, slot, use->gpu);
        uint64_t noted = 0;

        for (unsigned i = 0; i < REGION_OTHER; i++) {
                const uint64_t bytes = atomic_load(&charges->kinds[i]);

                use->kinds[i] = bytes < held - noted ? bytes : held - noted;
                noted += use->kinds[i];
        }
        use->kinds[REGION_OTHER] = held - noted;
}

static void process_read(const struct region *region, uint32_t slot, unsigned device_count,
                         struct share_view *share)
{
        const struct region_slot *from = &region->file->slots[slot];
        struct share_process process = { .pid = (pid_t)(atomic_load(&from->state) >> 32),
                                         .host_pid = (pid_t)atomic_load(&from->host_pid),
                                         .gpus = VEC_OF(struct process_gpu) };

        snprintf(process.program, sizeof process.program, "%.*s", (int)sizeof from->name - 1,
                 from->name);
        for (unsigned i = 0; i < device_count; i++) {
                struct process_gpu use = { .gpu = i };

                use.virtual_bytes = region_held_bytes(region, slot, region_virtual(i));
                use.gpu_ns = atomic_load(&from->gpu_ns[i]);
                kinds_read(region, slot, &use);
                if (process_gpu_held_bytes(&use) || use.gpu_ns)
                        vec_push(&process.gpus, &use);
        }
        vec_push(&share->processes, &process);
}

static void processes_read(const struct region *region, unsigned device_count, uint32_t most,
                           struct share_view *share)
{
        const uint32_t high = region_slots_high(region);

        for (uint32_t i = 1; i <= high && i <= most; i++)
                if (region_slot_is_alive(region, i))
                        process_read(region, i, device_count, share);
}

/* A copy: another user may cut the file short. NULL: it has none. */
static struct gpu_grant_file *grants_read(const char *path)
{
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        autofree struct gpu_grant_file *grants = fd < 0 ? NULL : malloc(sizeof *grants);

        if (!grants || pread(fd, grants, sizeof *grants, 0) != (ssize_t)sizeof *grants ||
            atomic_load(&grants->magic) != GPU_GRANT_MAGIC)
                return NULL;
        return steal(grants);
}

static struct share_view *share_view_read(struct snapshot *snapshot, const struct share_copy *copy,
                                          const struct region *region, const char *grant_path,
                                          uint32_t slots_most)
{
        struct share_view *share = snapshot_share_add(snapshot);
        autofree struct gpu_grant_file *grants = grants_read(grant_path);
        const unsigned count = share_device_count(copy);

        if (!share)
                return NULL;
        snprintf(share->name, sizeof share->name, "%.63s", copy->name);
        snprintf(share->program, sizeof share->program, "%.63s", copy->container);
        share->is_context_exempt = count && copy->devices[0].flags & SHARE_CONTEXT_EXEMPT;
        share_gpus_read(copy, region, slots_most == REGION_SLOTS, &share->gpus);
        for (size_t i = 0; grants && i < share->gpus.count && i < grants->device_count; i++)
                timeslices_read(&grants->devices[i], vec_at(&share->gpus, i));
        if (region)
                processes_read(region, count, slots_most, share);
        return share;
}

struct listing {
        struct snapshot *snapshot;
        struct vec seen; /* of struct stat: share files that are listed already */
};

static void own_read(struct listing *list, const char *path)
{
        static struct share_query query; /* 17 KiB and more */
        struct err e = { 0 };
        struct stat st;
        char grant[SHARE_TEXT];

        if (!share_query_open(path, &query, &e)) {
                snapshot_trouble(list->snapshot, "%s", e.text);
                return;
        }
        /* A share of `vgpu run` has all its files in one folder. */
        gpu_page_grant_path(path, grant);
        struct share_view *share =
                share_view_read(list->snapshot, &query.copy, query.region, grant, REGION_SLOTS);

        if (share)
                user_name_find(geteuid(), share->user);
        if (query.region)
                run_folder_check(&query.copy, query.region, &e);
        if (share && e.text[0])
                snprintf(share->fault, sizeof share->fault, "%.250s", e.text);
        if (e.text[0])
                snapshot_trouble(list->snapshot, "%s", e.text);
        if (stat(path, &st) == 0)
                vec_push(&list->seen, &st);
        share_query_close(&query);
}

static bool is_seen(const struct listing *list, int folder)
{
        struct stat st;

        for (size_t i = 0;
             fstatat(folder, "share", &st, AT_SYMLINK_NOFOLLOW) == 0 && i < list->seen.count; i++) {
                const struct stat *seen = vec_at(&list->seen, i);

                if (seen->st_dev == st.st_dev && seen->st_ino == st.st_ino)
                        return true;
        }
        return false;
}

/* Another user's: read and never written, and not followed anywhere. */
static void other_read(void *owner, const struct user_share *from)
{
        struct listing *list = owner;
        static struct share_copy copy; /* 17 KiB */
        struct region region;
        char path[SHARE_TEXT], grant[SHARE_TEXT];
        struct err e = { 0 };

        if (is_seen(list, from->folder) || !user_share_is_used(from))
                return;
        if (user_share_read(from, &copy, &e) < 0) {
                snapshot_trouble(list->snapshot, "%s", e.text);
                return;
        }
        user_share_path(from, "region", path);
        user_share_path(from, "grant", grant);
        const bool is_open = region_view_open(path, &region, NULL) == 0;
        struct share_view *share =
                share_view_read(list->snapshot, &copy, is_open ? &region : NULL, grant, SLOTS_MOST);

        if (share)
                str_copy(share->user, sizeof share->user, from->user_name);
        if (is_open)
                region_view_close(&region);
}

void snapshot_shares_add(struct snapshot *snapshot, bool is_all)
{
        struct listing list = { .snapshot = snapshot, .seen = VEC_OF(struct stat) };
        struct vec paths = VEC_OF(char[SHARE_TEXT]);

        run_folder_list(&paths);
        for (size_t i = 0; i < paths.count; i++)
                own_read(&list, vec_at(&paths, i));
        if (is_all && geteuid() == 0)
                user_shares_each(other_read, &list);
        vec_done(&paths);
        vec_done(&list.seen);
}
