/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot: taken piece by piece, and joined: what the driver knows of a process to its share, what
 * remains to the strangers. */
#include "snapshot.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cell_text.h"
#include "clock.h"
#include "file.h"
#include "node_shares.h"
#include "scope.h"
#include "snapshot_gpu.h"
#include "snapshot_share.h"
#include "snapshot_usage.h"
#include "str.h"

void snapshot_trouble(struct snapshot *snapshot, const char *format, ...)
{
        char text[SNAPSHOT_TEXT];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        vec_push(&snapshot->troubles, text);
}

struct gpu_view *snapshot_gpu(const struct snapshot *snapshot, const char *uuid)
{
        for (size_t i = 0; i < snapshot->gpus.count; i++) {
                struct gpu_view *gpu = vec_at(&snapshot->gpus, i);

                if (strcmp(gpu->uuid, uuid) == 0)
                        return gpu;
        }
        return NULL;
}

struct share_view *snapshot_share_add(struct snapshot *snapshot)
{
        const struct share_view empty = { .gpus = VEC_OF(struct share_gpu),
                                          .processes = VEC_OF(struct share_process) };

        return vec_push(&snapshot->shares, &empty) < 0
                       ? NULL
                       : vec_at(&snapshot->shares, snapshot->shares.count - 1);
}

unsigned share_gpu_cap_percent(const struct share_gpu *gpu)
{
        return gpu->cores_max_percent > gpu->cores_percent ? gpu->cores_max_percent
                                                           : gpu->cores_percent;
}

bool share_gpu_is_measured(const struct share_gpu *gpu)
{
        return share_gpu_cap_percent(gpu) || gpu->gpu_ns;
}

uint64_t process_gpu_held_bytes(const struct process_gpu *use)
{
        uint64_t bytes = use->virtual_bytes;

        for (unsigned i = 0; i < REGION_KINDS; i++)
                bytes += use->kinds[i];
        return bytes;
}

void user_name_find(uid_t uid, char ret_name[SNAPSHOT_USER])
{
        const struct passwd *entry = getpwuid(uid);

        if (entry)
                str_copy(ret_name, SNAPSHOT_USER, entry->pw_name);
        else
                snprintf(ret_name, SNAPSHOT_USER, "%u", uid);
}

bool share_process_is(const struct share_process *process, const struct gpu_process *known)
{
        return process->pid == known->pid || process->host_pid == known->pid;
}

/* A process of a share is on the GPU with so many bytes, says the driver. True: it is of this share. */
static bool share_takes(struct share_view *share, const struct gpu_process *known)
{
        bool is_taken = false;

        for (size_t i = 0; i < share->processes.count; i++) {
                struct share_process *process = vec_at(&share->processes, i);

                if (!share_process_is(process, known))
                        continue;
                is_taken = true;
                for (size_t j = 0; j < process->gpus.count; j++) {
                        struct process_gpu *use = vec_at(&process->gpus, j);
                        const struct share_gpu *gpu = vec_at(&share->gpus, use->gpu);

                        if (!gpu || strcmp(gpu->uuid, known->uuid) != 0)
                                continue;
                        use->is_resident_told = true;
                        use->resident_bytes = known->bytes;
                }
        }
        return is_taken;
}

/* Who has the GPU of that process among its own; of two with the same pid in two containers, both. */
static bool is_of_share(struct snapshot *snapshot, const struct gpu_process *known)
{
        bool is_taken = false;

        for (size_t i = 0; i < snapshot->shares.count; i++) {
                struct share_view *share = vec_at(&snapshot->shares, i);
                bool has_gpu = false;

                for (size_t j = 0; j < share->gpus.count; j++)
                        has_gpu |= strcmp(((struct share_gpu *)vec_at(&share->gpus, j))->uuid,
                                          known->uuid) == 0;
                is_taken |= has_gpu && share_takes(share, known);
        }
        return is_taken;
}

enum { COMM_BYTES = 15 }; /* of a longer name the kernel, and so a region, has no more */

/* The whole name, which a word of the process's command line has; a script's is not the first. A process that
 * has the same number and is another one has no such word. */
static void program_complete(struct share_process *process)
{
        char path[64], text[PATH_MAX] = "";

        if (strlen(process->program) != COMM_BYTES)
                return;
        snprintf(path, sizeof path, "/proc/%d/cmdline",
                 (int)(process->host_pid ? process->host_pid : process->pid));
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        const ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

        for (const char *word = text; word < text + length; word += strlen(word) + 1) {
                const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

                if (!str_starts_with(name, process->program))
                        continue;
                str_copy(process->program, sizeof process->program, name);
                break;
        }
        cell_text_trim(process->program);
}

static void programs_complete(struct snapshot *snapshot)
{
        for (size_t i = 0; i < snapshot->shares.count; i++) {
                struct share_view *share = vec_at(&snapshot->shares, i);

                cell_text_trim(share->program);
                for (size_t j = 0; j < share->processes.count; j++)
                        program_complete(vec_at(&share->processes, j));
        }
}

/* The first words of its command line, else what the kernel or the driver calls it. */
static void command_find(pid_t pid, char *to, size_t size)
{
        char path[64], text[256] = "";

        snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        const ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

        if (length <= 0 || !*text)
                return;
        const char *slash = strrchr(text, '/'), *first = slash ? slash + 1 : text;
        for (ssize_t i = 0; i + 1 < length; i++)
                if (!text[i])
                        text[i] = ' ';
        str_copy(to, size, first);
}

static void stranger_add(struct snapshot *snapshot, const struct gpu_process *known,
                         const char *only_user)
{
        struct stranger stranger = { .pid = known->pid, .used_bytes = known->bytes };
        struct stat st;
        char path[64];

        str_copy(stranger.uuid, sizeof stranger.uuid, known->uuid);
        str_copy(stranger.program, sizeof stranger.program, known->program);
        snprintf(path, sizeof path, "/proc/%d", (int)known->pid);
        if (!known->is_foreign && stat(path, &st) == 0) {
                user_name_find(st.st_uid, stranger.user);
                stranger.is_other_user = geteuid() != 0 && st.st_uid != geteuid();
                command_find(known->pid, stranger.program, sizeof stranger.program);
        }
        cell_text_trim(stranger.program);
        if (!only_user || strcmp(only_user, stranger.user) == 0)
                vec_push(&snapshot->strangers, &stranger);
}

static void processes_join(struct snapshot *snapshot, const struct snapshot_scope *scope,
                           const struct vec *processes)
{
        for (size_t i = 0; i < processes->count; i++) {
                const struct gpu_process *known = vec_at(processes, i);

                if (!is_of_share(snapshot, known))
                        stranger_add(snapshot, known, scope->user);
        }
}

/* A GPU of which no driver tells is known by its UUID and by what its shares say. */
static void gpus_complete(struct snapshot *snapshot)
{
        for (size_t i = 0; i < snapshot->shares.count; i++) {
                const struct share_view *share = vec_at(&snapshot->shares, i);

                for (size_t j = 0; j < share->gpus.count; j++) {
                        const struct share_gpu *from = vec_at(&share->gpus, j);
                        struct gpu_view gpu = { .index = (unsigned)j,
                                                .total_bytes = from->total_bytes,
                                                .is_healthy = true };

                        if (snapshot_gpu(snapshot, from->uuid))
                                continue;
                        str_copy(gpu.uuid, sizeof gpu.uuid, from->uuid);
                        vec_push(&snapshot->gpus, &gpu);
                }
        }
}

/* What vgpu-node has counted of them. */
static void gpus_count(struct snapshot *snapshot)
{
        for (size_t i = 0; i < snapshot->gpus.count; i++) {
                struct gpu_view *gpu = vec_at(&snapshot->gpus, i);

                gpu->cores_used_ns = gpu->outside_ns = SNAPSHOT_UNKNOWN;
                for (size_t j = 0; j < snapshot->counts.count; j++) {
                        const struct gpu_count *count = vec_at(&snapshot->counts, j);

                        if (strcmp(count->uuid, gpu->uuid) != 0)
                                continue;
                        gpu->cores_used_ns = count->cores_used_ns;
                        gpu->outside_ns = count->outside_ns;
                }
        }
}

static void share_done(struct share_view *share)
{
        for (size_t i = 0; i < share->processes.count; i++)
                vec_done(&((struct share_process *)vec_at(&share->processes, i))->gpus);
        vec_done(&share->processes);
        vec_done(&share->gpus);
}

static void share_remove(struct snapshot *snapshot, size_t index)
{
        share_done(vec_at(&snapshot->shares, index));
        vec_remove(&snapshot->shares, index);
}

void snapshot_filter(struct snapshot *snapshot, const char *text)
{
        for (size_t i = snapshot->shares.count; i-- > 0;) {
                struct share_view *share = vec_at(&snapshot->shares, i);
                bool is_passed = strstr(share->name, text) || strstr(share->user, text) ||
                                 strstr(share->program, text) || strstr(share->pod, text);

                for (size_t j = 0; j < share->processes.count; j++)
                        is_passed |= strstr(((struct share_process *)vec_at(&share->processes, j))
                                                    ->program,
                                            text) != NULL;
                if (!is_passed)
                        share_remove(snapshot, i);
        }
        for (size_t i = snapshot->strangers.count; i-- > 0;) {
                const struct stranger *stranger = vec_at(&snapshot->strangers, i);

                if (!strstr(stranger->user, text) && !strstr(stranger->program, text))
                        vec_remove(&snapshot->strangers, i);
        }
}

static int share_compare(const void *a, const void *b)
{
        const struct share_view *left = a, *right = b;
        const int order = strcmp(left->user, right->user);

        return order ? order : strcmp(left->name, right->name);
}

static void shares_keep(struct snapshot *snapshot, const char *user)
{
        for (size_t i = snapshot->shares.count; user && i-- > 0;) {
                const struct share_view *share = vec_at(&snapshot->shares, i);

                if (strcmp(share->user, user) != 0)
                        share_remove(snapshot, i);
        }
        if (snapshot->shares.count)
                qsort(snapshot->shares.items, snapshot->shares.count, sizeof(struct share_view),
                      share_compare);
}

/* An empty list would say that the user has no shares. */
static void user_check(struct snapshot *snapshot, const char *user)
{
        char own[SNAPSHOT_USER];

        user_name_find(geteuid(), own);
        if (user && geteuid() != 0 && snapshot->shares.count == 0 && strcmp(user, own) != 0)
                snapshot_trouble(snapshot, "only root sees the shares of other users, such as '%s'",
                                 user);
}

void snapshot_take(const struct snapshot_scope *scope, struct snapshot *ret_snapshot)
{
        struct snapshot snapshot = { .gpus = VEC_OF(struct gpu_view),
                                     .shares = VEC_OF(struct share_view),
                                     .strangers = VEC_OF(struct stranger),
                                     .troubles = VEC_OF(char[SNAPSHOT_TEXT]),
                                     .counts = VEC_OF(struct gpu_count) };
        struct vec processes = VEC_OF(struct gpu_process);
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        snapshot.time_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
        snapshot_shares_add(&snapshot, scope->is_all);
        snapshot.monotonic_ns = clock_now_ns();
        node_shares_add(&snapshot);
        programs_complete(&snapshot);
        snapshot_gpus_find(&snapshot, scope, &processes);
        gpus_complete(&snapshot);
        gpus_count(&snapshot);
        /* Before shares are left out: their processes are no strangers. */
        processes_join(&snapshot, scope, &processes);
        snapshot_usage_split(&snapshot, &processes);
        shares_keep(&snapshot, scope->user);
        user_check(&snapshot, scope->user);
        if (snapshot.gpus.count)
                qsort(snapshot.gpus.items, snapshot.gpus.count, sizeof(struct gpu_view),
                      gpu_view_compare);
        vec_done(&processes);
        *ret_snapshot = snapshot;
}

void snapshot_done(struct snapshot *snapshot)
{
        for (size_t i = 0; i < snapshot->shares.count; i++)
                share_done(vec_at(&snapshot->shares, i));
        vec_done(&snapshot->shares);
        vec_done(&snapshot->gpus);
        vec_done(&snapshot->strangers);
        vec_done(&snapshot->troubles);
        vec_done(&snapshot->counts);
}
