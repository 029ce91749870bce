/* SPDX-License-Identifier: Apache-2.0 */
/* A sample: every share's region beside the driver's figures; then what each used and lost is added up. */
#include "node_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gpu_process.h"
#include "group_share.h"
#include "guard.h"
#include "region_reader.h"
#include "share_folder.h"
#include "str.h"
#include "usage_rows.h"

/* Of a longer time, the last second says nothing. */
#define PASSED_MOST_NS (3 * NS_PER_S)

enum { KEY = SHARE_TEXT + 16 };

struct entry { /* of a share and device */
        char key[KEY];
        char uuid[96];
        unsigned device;
        int row; /* among those of the sample under way; −1: it has none */
        bool is_seen;
        struct share_usage use;
};

struct node_usage {
        struct vec entries; /* of struct entry */
        struct vec devices; /* of struct device_usage */
        size_t cursor;      /* where the last one was found: they are asked for in one order */
        uint64_t sampled_ns;
        bool is_idle; /* nobody did anything at the last sample */
};

/* While it is filled. */
struct sample {
        struct node_usage *usage;
        struct usage_rows rows;
        uint64_t at_ns;
};

struct node_usage *node_usage_new(void)
{
        struct node_usage *usage = calloc(1, sizeof *usage);

        if (usage) {
                usage->entries = (struct vec)VEC_OF(struct entry);
                usage->devices = (struct vec)VEC_OF(struct device_usage);
        }
        return usage;
}

void node_usage_free(struct node_usage *usage)
{
        if (!usage)
                return;
        vec_done(&usage->entries);
        vec_done(&usage->devices);
        free(usage);
}

/* The path of a user's share is one through a descriptor: another one's next time. */
static void key_make(const struct shown_share *share, char ret_key[KEY])
{
        if (shown_share_is_users(share))
                snprintf(ret_key, KEY, "%u:%s", share->uid, share->name);
        else
                str_copy(ret_key, KEY, share->path);
}

static struct entry *entry_find(struct node_usage *usage, const char *key, unsigned device)
{
        const size_t count = usage->entries.count;

        for (size_t i = 0; i < count; i++) {
                const size_t at = (usage->cursor + i) % count;
                struct entry *entry = vec_at(&usage->entries, at);

                if (entry->device != device || strcmp(entry->key, key) != 0)
                        continue;
                usage->cursor = at + 1;
                return entry;
        }
        return NULL;
}

static struct entry *entry_take(struct node_usage *usage, const char *key, unsigned device)
{
        struct entry *entry = entry_find(usage, key, device), made = { .device = device };

        if (entry)
                return entry;
        str_copy(made.key, sizeof made.key, key);
        return vec_push(&usage->entries, &made) < 0
                       ? NULL
                       : vec_at(&usage->entries, usage->entries.count - 1);
}

/* What the region says; false: it says nothing. */
static bool part_read(const struct region_reader *region, const struct share_device *device,
                      unsigned index, uint64_t at_ns, struct gpu_usage_part *ret_part)
{
        struct reader_device use;

        if (!region->compute || region_reader_device(region, index, at_ns, &use) < 0)
                return false;
        *ret_part = (struct gpu_usage_part){
                .own = 100 * use.busy_ratio,
                .is_unlimited = !share_cap_percent(device),
                .has_ended = region_reader_has_ended(region, at_ns),
        };
        return true;
}

static void processes_take(struct sample *sample, const struct region_reader *region,
                           const int *rows, unsigned count)
{
        struct reader_process process;

        for (uint32_t slot = 1; region->compute && slot <= region->slots; slot++)
                if (region_reader_process(region, slot, &process) == 1)
                        for (unsigned i = 0; i < count; i++)
                                usage_rows_take(&sample->rows, rows[i], process.host_pid);
}

static void share_add(void *owner, const struct shown_share *share)
{
        struct sample *sample = owner;
        const unsigned count = share->copy->device_count;
        struct region_reader region = { 0 };
        char path[SHARE_TEXT], key[KEY];
        int rows[SHARE_DEVICES];

        key_make(share, key);
        share_folder_beside(share->path, "region", path);
        guard_open_begin(); /* a user's pages may be cut short meanwhile */
        if (region_reader_open(path, &region, NULL) < 0)
                region = (struct region_reader){ 0 };
        region.is_of_host = shown_share_is_users(share);
        for (unsigned i = 0; i < count && i < SHARE_DEVICES; i++) {
                const struct share_device *device = &share->copy->devices[i];
                struct entry *entry = entry_take(sample->usage, key, i);
                struct gpu_usage_part part;

                rows[i] = -1;
                if (entry && part_read(&region, device, i, sample->at_ns, &part))
                        rows[i] = usage_rows_add(&sample->rows, device->uuid, &part);
                if (!entry)
                        continue;
                entry->row = rows[i];
                entry->is_seen = true;
                str_copy(entry->uuid, sizeof entry->uuid, device->uuid);
        }
        processes_take(sample, &region, rows, count < SHARE_DEVICES ? count : SHARE_DEVICES);
        region_reader_close(&region);
        guard_open_end();
}

static void held_add(void *owner, struct held_share *held)
{
        const struct shown_share shown = shown_share_of(held);

        share_add(owner, &shown);
        share_book_trim_share(held);
}

/* A process that is in no region, or is not known by the node's pid, belongs to the share of its control group. */
static void strays_take(struct sample *sample, struct share_book *book)
{
        const struct vec *processes = sample->rows.processes;

        for (size_t i = 0; book && processes && i < processes->count; i++) {
                const struct gpu_process *process = vec_at(processes, i);
                struct control_group group = { 0 };

                if (sample->rows.is_taken[i] || control_group_of((pid_t)process->pid, &group) < 0)
                        continue;
                const struct held_share *held = group_share_find(book, &group);
                for (size_t j = 0; held && j < sample->usage->entries.count; j++) {
                        const struct entry *entry = vec_at(&sample->usage->entries, j);

                        if (entry->is_seen && strcmp(entry->key, held->path) == 0 &&
                            strcmp(entry->uuid, process->uuid) == 0)
                                usage_rows_take(&sample->rows, entry->row, process->pid);
                }
        }
}

static uint64_t part_ns(double percent, uint64_t passed_ns)
{
        return (uint64_t)(percent / 100 * (double)passed_ns);
}

static void entries_count(struct sample *sample, uint64_t passed_ns)
{
        struct node_usage *usage = sample->usage;

        for (size_t i = usage->entries.count; i-- > 0;) {
                struct entry *entry = vec_at(&usage->entries, i);
                const struct usage_row *row =
                        entry->is_seen ? usage_rows_at(&sample->rows, entry->row) : NULL;

                if (!entry->is_seen) {
                        vec_remove(&usage->entries, i);
                        continue;
                }
                entry->is_seen = false;
                entry->use.used_percent = row ? row->part.used : 0;
                entry->use.lost_percent = row ? row->part.lost : 0;
                entry->use.is_used_known = row && row->is_used_known;
                entry->use.is_lost_known = row && row->is_lost_known;
                entry->use.used_ns += part_ns(entry->use.used_percent, passed_ns);
                entry->use.lost_ns += part_ns(entry->use.lost_percent, passed_ns);
        }
}

static double used_sum(const struct sample *sample, const char *uuid)
{
        double sum = 0;

        for (size_t i = 0; i < sample->rows.rows.count; i++) {
                const struct usage_row *row = usage_rows_at(&sample->rows, (int)i);

                sum += strcmp(row->uuid, uuid) == 0 ? row->part.used : 0;
        }
        return sum;
}

static struct device_usage *device_take(struct node_usage *usage, const char *uuid)
{
        struct device_usage made = { 0 };

        for (size_t i = 0; i < usage->devices.count; i++) {
                struct device_usage *device = vec_at(&usage->devices, i);

                if (strcmp(device->uuid, uuid) == 0)
                        return device;
        }
        str_copy(made.uuid, sizeof made.uuid, uuid);
        return vec_push(&usage->devices, &made) < 0
                       ? NULL
                       : vec_at(&usage->devices, usage->devices.count - 1);
}

static struct device_usage *device_count(struct sample *sample, const char *uuid,
                                         const struct gpu_usage *told, uint64_t passed_ns)
{
        struct device_usage *device = device_take(sample->usage, uuid);
        struct gpu_usage gpu = *told;

        usage_rows_split(&sample->rows, uuid, &gpu);
        if (!device)
                return NULL;
        device->busy_percent = told->busy;
        device->is_split_told = gpu.is_told;
        device->outside_percent = gpu.outside;
        device->used_percent = used_sum(sample, uuid);
        device->used_ns += part_ns(device->used_percent, passed_ns);
        device->outside_ns += part_ns(device->outside_percent, passed_ns);
        return device;
}

static void devices_count(struct sample *sample, const struct gpu_set *set, uint64_t passed_ns)
{
        for (unsigned i = 0; i < set->count; i++) {
                const struct gpu *gpu = &set->gpus[i];
                const struct gpu_usage told = { .busy = gpu->busy_percent,
                                                .is_busy_told = gpu->is_busy_second,
                                                /* Nobody on it: nobody did anything. */
                                                .is_told = gpu->is_busy_second &&
                                                           gpu->busy_percent <= 0 };

                if (gpu->is_mig)
                        continue;
                struct device_usage *device = device_count(sample, gpu->uuid, &told, passed_ns);
                if (device)
                        device->is_busy_told = gpu->is_busy_told;
        }
        for (unsigned i = 0; i < set->part_count; i++)
                device_count(sample, set->parts[i].uuid, &(struct gpu_usage){ 0 }, passed_ns);
}

/* MIG devices that are no more are not told of. */
static void devices_forget(struct node_usage *usage, const struct gpu_set *set)
{
        for (size_t i = usage->devices.count; i-- > 0;)
                if (gpu_set_find(set, ((struct device_usage *)vec_at(&usage->devices, i))->uuid) <
                    0)
                        vec_remove(&usage->devices, i);
}

/* Nobody did anything, says the driver: regions need not be read. */
static bool set_is_idle(const struct gpu_set *set)
{
        for (unsigned i = 0; i < set->count; i++)
                if (set->gpus[i].is_mig || !set->gpus[i].is_busy_second ||
                    set->gpus[i].busy_percent > 0)
                        return false;
        return true;
}

static void entries_clear(struct node_usage *usage)
{
        for (size_t i = 0; i < usage->entries.count; i++) {
                struct share_usage *use = &((struct entry *)vec_at(&usage->entries, i))->use;

                use->used_percent = use->lost_percent = 0;
                use->is_used_known = use->is_lost_known = true;
        }
}

/* How long ago it was asked before; 0: never. */
static uint64_t passed_take(struct node_usage *usage, uint64_t at_ns)
{
        const uint64_t passed_ns = usage->sampled_ns ? at_ns - usage->sampled_ns : 0;

        usage->sampled_ns = at_ns;
        return passed_ns < PASSED_MOST_NS ? passed_ns : PASSED_MOST_NS;
}

void node_usage_sample(struct node_usage *usage, struct gpu_watch *gpus, struct share_book *book)
{
        struct vec processes = VEC_OF(struct gpu_process);
        struct sample sample = { .usage = usage };
        struct gpu_set set;

        sample.at_ns = gpu_watch_processes(gpus, &processes);
        if (sample.at_ns > usage->sampled_ns && gpu_watch_read(gpus, &set)) {
                const uint64_t passed_ns = passed_take(usage, sample.at_ns);
                const bool is_idle = set_is_idle(&set);

                usage->is_idle = is_idle;
                usage_rows_init(&sample.rows, &processes);
                if (book && !is_idle)
                        share_book_each(book, held_add, &sample);
                if (!is_idle)
                        shown_shares_of_users(share_add, &sample);
                if (!is_idle)
                        strays_take(&sample, book);
                devices_count(&sample, &set, passed_ns);
                if (is_idle)
                        entries_clear(usage);
                else
                        entries_count(&sample, passed_ns);
                devices_forget(usage, &set);
                usage_rows_done(&sample.rows);
        }
        vec_done(&processes);
}

const struct share_usage *node_usage_share(struct node_usage *usage,
                                           const struct shown_share *share, unsigned device)
{
        static const struct share_usage nothing = { .is_used_known = true, .is_lost_known = true };
        char key[KEY];

        if (!usage)
                return NULL;
        key_make(share, key);
        const struct entry *entry = entry_find(usage, key, device);
        if (entry)
                return &entry->use;
        return usage->is_idle ? &nothing : NULL;
}

const struct device_usage *node_usage_device(const struct node_usage *usage, size_t index)
{
        return usage && index < usage->devices.count ? vec_at(&usage->devices, index) : NULL;
}
