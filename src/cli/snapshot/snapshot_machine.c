/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of simulated machines, and the search for those. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine_view.h"
#include "mig.h"
#include "paths.h"
#include "process.h"
#include "run_folders.h"
#include "scope.h"
#include "slot.h"
#include "snapshot_gpu.h"
#include "str.h"
#include "timeline.h"

enum { ENVIRONMENT_BYTES = 1 << 20, ENTRIES_MOST = 1 << 16 };

/* One that is our own is brought up to date: its clocks moved, its dead reaped. Another user's could hold us
 * in its locks. What was looked at is what is opened, whatever is put in its place meanwhile. */
static void machine_refresh(const char *path)
{
        autoclose int fd = open(path, O_PATH | O_CLOEXEC);
        struct machine machine;
        struct stat st;
        char own[64];

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
            (st.st_mode & 022))
                return;
        snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
        if (machine_open(own, &machine, NULL) < 0)
                return;
        slot_reap(&machine);
        for (unsigned i = 0; i < machine.file->header.gpu_count * MACHINE_UNITS_PER_GPU; i++)
                if (machine_unit(&machine, i)->is_active)
                        timeline_advance(&machine, i);
        machine_close(&machine);
}

static const char *profile_name(const struct machine_gpu *gpu,
                                const struct machine_gpu_instance *instance)
{
        const struct mig_model *model = mig_model(gpu);
        const struct mig_profile *profile =
                model ? mig_profile_of_id(model, instance->profile) : NULL;

        return profile ? profile->name : "";
}

struct unit_target {
        unsigned index, instance, unit;
        const char *uuid, *profile;
};

static void unit_add(struct snapshot *snapshot, const struct machine_view *view,
                     const struct unit_target *target)
{
        const struct machine_gpu *from = &view->header->gpus[target->index];
        const struct machine_unit *unit = &view->header->units[target->unit];
        struct gpu_view gpu = { .index = target->index,
                                .instance = target->instance,
                                .used_bytes = unit->used_bytes,
                                .is_healthy = !atomic_load(&from->is_lost) };

        if (snapshot_gpu(snapshot, target->uuid))
                return;
        gpu.is_told = gpu.is_busy_told = gpu.is_split_told = gpu.is_healthy;
        gpu.is_busy_second = gpu.is_busy_told;
        gpu.total_bytes = target->instance ? unit->memory_bytes : from->memory_bytes;
        gpu.busy_percent = 100 * machine_view_load(view, target->unit);
        str_copy(gpu.uuid, sizeof gpu.uuid, target->uuid);
        for (size_t i = 0; i < sizeof view->header->id; i++)
                snprintf(gpu.machine + 2 * i, 3, "%02x", view->header->id[i]);
        snprintf(gpu.name, sizeof gpu.name, "%.70s%s%.16s", from->name,
                 target->instance ? " MIG " : "", target->profile);
        vec_push(&snapshot->gpus, &gpu);
}

typedef void (*unit_visit)(struct snapshot *snapshot, const struct machine_view *view,
                           const struct unit_target *target);

static void units_each(struct snapshot *snapshot, const struct machine_view *view, unit_visit visit)
{
        for (unsigned i = 0; i < view->header->gpu_count; i++) {
                const struct machine_gpu *gpu = &view->header->gpus[i];
                unsigned number = 0;

                if (!gpu->mig_mode)
                        visit(snapshot, view,
                              &(struct unit_target){ i, 0, i * MACHINE_UNITS_PER_GPU, gpu->uuid,
                                                     "" });
                for (unsigned k = 0; gpu->mig_mode && k < 7; k++) {
                        const struct machine_gpu_instance *instance = &gpu->instances[k];

                        for (unsigned c = 0; instance->is_used && c < 7; c++)
                                if (instance->compute[c].is_used)
                                        visit(snapshot, view,
                                              &(struct unit_target){ i, ++number, instance->unit,
                                                                     instance->compute[c].uuid,
                                                                     profile_name(gpu, instance) });
                }
        }
}

/* The UUID of a unit; of a GPU instance, its first compute instance's. */
static const char *unit_uuid(const struct machine_header *header, unsigned unit)
{
        const struct machine_gpu *gpu = &header->gpus[unit / MACHINE_UNITS_PER_GPU];

        for (unsigned k = 0; gpu->mig_mode && k < 7; k++)
                if (gpu->instances[k].is_used && gpu->instances[k].unit == unit)
                        return gpu->instances[k].compute[0].uuid;
        return gpu->uuid;
}

static uint64_t own_namespace(void)
{
        struct stat st;

        return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static unsigned slots_add(const struct machine_view *view, struct vec *processes)
{
        const uint32_t high = atomic_load(&view->header->slots_high);
        const uint64_t own = own_namespace();
        struct machine_slot slot;
        unsigned count = 0;

        for (uint32_t i = 0; i < high; i++) {
                if (!machine_view_slot(view, i, &slot))
                        continue;
                const bool is_foreign = slot.pid_namespace && slot.pid_namespace != own;

                if (!is_foreign && !process_is_alive(slot.pid, slot.start_time))
                        continue;
                count++;
                for (unsigned u = 0; u < view->header->gpu_count * MACHINE_UNITS_PER_GPU; u++) {
                        const struct machine_slot_unit *held = &slot.units[u];
                        struct gpu_process process = {
                                .pid = slot.pid,
                                .is_foreign = is_foreign,
                                .bytes = held->device_bytes + held->managed_bytes,
                                .busy_percent =
                                        100 * machine_view_channel_load(view, held->channel),
                        };
                        const char *slash = strrchr(slot.path, '/');

                        if (!held->contexts && !process.bytes)
                                continue;
                        str_copy(process.uuid, sizeof process.uuid, unit_uuid(view->header, u));
                        str_copy(process.program, sizeof process.program,
                                 slash ? slash + 1 : slot.path);
                        vec_push(processes, &process);
                }
        }
        return count;
}

static bool is_known(const struct snapshot *snapshot, const struct machine_view *view)
{
        for (unsigned u = 0; u < view->header->gpu_count * MACHINE_UNITS_PER_GPU; u++)
                if (snapshot_gpu(snapshot, unit_uuid(view->header, u)))
                        return true;
        return false;
}

static bool is_named_by_share(const struct snapshot *snapshot, const struct machine_view *view)
{
        for (size_t i = 0; i < snapshot->shares.count; i++) {
                const struct share_view *share = vec_at(&snapshot->shares, i);

                for (size_t j = 0; j < share->gpus.count; j++) {
                        const struct share_gpu *gpu = vec_at(&share->gpus, j);

                        for (unsigned u = 0; u < view->header->gpu_count * MACHINE_UNITS_PER_GPU;
                             u++)
                                if (strcmp(gpu->uuid, unit_uuid(view->header, u)) == 0)
                                        return true;
                }
        }
        return false;
}

/* Adds the GPUs of a machine that counts; 0 or a negative errno. */
static int snapshot_machine_add(struct snapshot *snapshot, const char *path,
                                enum machine_wanted wanted, struct vec *processes)
{
        const size_t before = processes->count;
        struct machine_view view;
        struct err e = { 0 };

        machine_refresh(path);
        const int r = machine_view_open(path, &view, &e);

        if (r < 0) {
                if (wanted == MACHINE_ASKED)
                        snapshot_trouble(snapshot, "%s", e.text);
                return r;
        }
        const bool is_new = !is_known(snapshot, &view);
        const bool is_used = is_new && slots_add(&view, processes) > 0;

        if (is_new && (wanted == MACHINE_ASKED || (is_used && wanted == MACHINE_USED) ||
                       is_named_by_share(snapshot, &view)))
                units_each(snapshot, &view, unit_add);
        else
                while (processes->count > before)
                        vec_remove(processes, processes->count - 1);
        machine_view_close(&view);
        return 0;
}

/* Whoever names a machine asks for that one alone; shares on others are still to be told of. */
static enum machine_wanted machines_wanted(void)
{
        const char *named = getenv("VGPU_SIM");

        return named && *named ? MACHINE_SHARED : MACHINE_USED;
}

/* A machine is known by its size before its magic: other files are not even opened. */
static void folder_search(struct snapshot *snapshot, const char *folder, bool is_all,
                          struct vec *processes)
{
        DIR *directory = opendir(folder);
        struct dirent *entry;

        for (unsigned i = 0; directory && i < ENTRIES_MOST && (entry = readdir(directory)); i++) {
                char path[PATH_MAX];
                struct stat st;

                snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
                if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
                    st.st_size == (off_t)sizeof(struct machine_file) &&
                    (is_all || st.st_uid == geteuid()))
                        snapshot_machine_add(snapshot, path, machines_wanted(), processes);
        }
        if (directory)
                closedir(directory);
}

/* A folder that has one for each user, or where everybody's lie. */
static void folders_search(struct snapshot *snapshot, const char *folder, struct vec *processes)
{
        DIR *directory = opendir(folder);
        struct dirent *entry;
        char path[PATH_MAX];

        for (unsigned i = 0; directory && i < ENTRIES_MOST && (entry = readdir(directory)); i++) {
                if (entry->d_name[strspn(entry->d_name, "0123456789")])
                        continue;
                snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
                folder_search(snapshot, path, true, processes);
        }
        if (directory)
                closedir(directory);
        folder_search(snapshot, folder, true, processes);
}

/* Machines of `vgpu run --sim` lie where the user's shares do, also in other users' runtime folders. */
static void users_search(struct snapshot *snapshot, struct vec *processes)
{
        const char *chosen = getenv(RUN_FOLDERS_VARIABLE);
        autofree char *folders = strdup(chosen && *chosen ? chosen : RUN_FOLDERS_DEFAULT);
        char *remainder = folders, *folder;

        while (folders && (folder = strsep(&remainder, ":")))
                if (*folder == '/')
                        folders_search(snapshot, folder, processes);
}

/* The variable's value in the process's environment; NULL: it has none, or it is not ours to read. */
static char *process_variable(pid_t pid, const char *name)
{
        char path[64];
        const size_t length = strlen(name);

        snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
        autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
        autofree char *text = fd < 0 ? NULL : calloc(1, ENVIRONMENT_BYTES + 1);
        if (!text)
                return NULL;
        const char *end = text;
        for (ssize_t n = 1; n > 0; end += n > 0 ? n : 0)
                n = read(fd, (char *)end, (size_t)(text + ENVIRONMENT_BYTES - end));
        for (const char *p = text; p < end; p += strlen(p) + 1)
                if (strncmp(p, name, length) == 0 && p[length] == '=')
                        return strdup(p + length + 1);
        return NULL;
}

/* A machine that lies anywhere is named by the processes that use it. */
static void share_search(struct snapshot *snapshot, const struct share_view *share,
                         struct vec *processes)
{
        const struct share_gpu *first = vec_at(&share->gpus, 0);

        for (size_t i = 0; first && i < share->processes.count; i++) {
                const struct share_process *process = vec_at(&share->processes, i);

                if (snapshot_gpu(snapshot, first->uuid))
                        return;
                autofree char *path = process_variable(
                        process->host_pid ? process->host_pid : process->pid, "VGPU_SIM");
                if (path && *path == '/')
                        snapshot_machine_add(snapshot, path, MACHINE_USED, processes);
        }
}

void snapshot_gpus_find(struct snapshot *snapshot, const struct snapshot_scope *scope,
                        struct vec *processes)
{
        const char *named = getenv("VGPU_SIM"), *folders[PATHS_FOLDERS];
        const size_t count = paths_run_folders(folders);

        if (named && *named)
                snapshot_machine_add(snapshot, named, MACHINE_ASKED, processes);
        else
                snapshot_nvml_add(snapshot, processes);
        for (size_t i = 0; i < snapshot->shares.count; i++)
                share_search(snapshot, vec_at(&snapshot->shares, i), processes);
        for (size_t i = 0; i < count; i++)
                folder_search(snapshot, folders[i], scope->is_all, processes);
        if (scope->is_all)
                users_search(snapshot, processes);
}
