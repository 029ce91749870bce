/* SPDX-License-Identifier: Apache-2.0 */
/* Of each container and device: what it may have, by its share; what it has, by its region; its time
 * slices, by the arbiter's page. */
#include "container_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "guard.h"
#include "region_reader.h"
#include "share_folder.h"
#include "shown_share.h"

enum {
        LIMIT,
        PHYSICAL_LIMIT,
        USED,
        PHYSICAL,
        VIRTUAL,
        REFUSALS,
        CORES,
        CORES_LIMIT,
        CORES_USED,
        CORES_USED_SECONDS,
        CORES_LOST,
        CORES_LOST_SECONDS,
        GPU_SECONDS,
        THROTTLED,
        THROTTLED_SECONDS,
        TIMESLICES,
        TIMESLICES_HELD,
        TIMESLICES_WAITED,
        TIMESLICES_LAPSED,
        FIGURES,
};

#define NAME(figure) "vgpu_container_" figure

static const struct figure figures[FIGURES] = {
        [LIMIT] = { NAME("memory_limit_bytes"), "Memory that it may hold; none: no limit.",
                    METRIC_GAUGE },
        [PHYSICAL_LIMIT] = { NAME("memory_physical_limit_bytes"),
                             "Of the limit, what may lie on the device; the remainder is virtual.",
                             METRIC_GAUGE },
        [USED] = { NAME("memory_used_bytes"), "Memory that it holds.", METRIC_GAUGE },
        [PHYSICAL] = { NAME("memory_physical_bytes"), "Of that, what is charged to the device.",
                       METRIC_GAUGE },
        [VIRTUAL] = { NAME("memory_virtual_bytes"), "Of that, what is spilled to host memory.",
                      METRIC_GAUGE },
        [REFUSALS] = { NAME("memory_refusals_total"), "Allocations refused at the limit.",
                       METRIC_COUNTER },
        [CORES] = { NAME("cores_ratio"),
                    "Part of the device's time that it is promised; none: no limit.",
                    METRIC_GAUGE },
        [CORES_LIMIT] = { NAME("cores_limit_ratio"),
                          "Part of the device's time that it may use; 1: all.", METRIC_GAUGE },
        [CORES_USED] = { NAME("cores_used_ratio"),
                         "Part of the device's time that it used in the last second.",
                         METRIC_GAUGE },
        [CORES_USED_SECONDS] = { NAME("cores_used_seconds_total"),
                                 "Time that the device worked for it, since vgpu-node started.",
                                 METRIC_COUNTER },
        [CORES_LOST] = { NAME("cores_lost_ratio"),
                         "Part of the device's time in the last second that programs without a "
                         "share took while it had work.",
                         METRIC_GAUGE },
        [CORES_LOST_SECONDS] = { NAME("cores_lost_seconds_total"),
                                 "Time lost to programs without a share, since vgpu-node started.",
                                 METRIC_COUNTER },
        [GPU_SECONDS] = { NAME("gpu_seconds_total"),
                          "Time in which the device had work of it, as it measures.",
                          METRIC_COUNTER },
        [THROTTLED] = { NAME("throttled_ratio"),
                        "Part of the last second in which it waited for its limit of compute.",
                        METRIC_GAUGE },
        [THROTTLED_SECONDS] = { NAME("throttled_seconds_total"),
                                "Time that it waited for its limit of compute.", METRIC_COUNTER },
        [TIMESLICES] = { NAME("timeslices_total"), "Time slices that the arbiter gave it.",
                         METRIC_COUNTER },
        [TIMESLICES_HELD] = { NAME("timeslices_held_seconds_total"),
                              "Time that it held its time slices.", METRIC_COUNTER },
        [TIMESLICES_WAITED] = { NAME("timeslices_waited_seconds_total"),
                                "Time that it waited for a time slice.", METRIC_COUNTER },
        [TIMESLICES_LAPSED] = { NAME("timeslices_lapsed_total"),
                                "Time slices revoked because its work did not end in time.",
                                METRIC_COUNTER },
};

static const struct figure kind_figures[] = {
        { NAME("memory_kind_bytes"), "What it holds on the device, by what it is for.",
          METRIC_GAUGE },
};

static const char *const kind_names[REGION_KINDS] = { [REGION_DEVICE] = "device",
                                                      [REGION_MANAGED] = "managed",
                                                      [REGION_CONTEXT] = "context",
                                                      [REGION_OTHER] = "other" };

enum { DEVICE_USED, DEVICE_USED_SECONDS, DEVICE_OUTSIDE, DEVICE_OUTSIDE_SECONDS, DEVICE_FIGURES };

static const struct figure device_figures[DEVICE_FIGURES] = {
        [DEVICE_USED] = { "vgpu_device_cores_used_ratio",
                          "Part of the device's time in the last second that shares used.",
                          METRIC_GAUGE },
        [DEVICE_USED_SECONDS] = { "vgpu_device_cores_used_seconds_total",
                                  "Time that the device worked for shares, since vgpu-node "
                                  "started.",
                                  METRIC_COUNTER },
        [DEVICE_OUTSIDE] = { "vgpu_device_outside_ratio",
                             "Part of the device's time in the last second that programs without "
                             "a share took.",
                             METRIC_GAUGE },
        [DEVICE_OUTSIDE_SECONDS] = { "vgpu_device_outside_seconds_total",
                                     "Time that the device worked for programs without a share, "
                                     "since vgpu-node started.",
                                     METRIC_COUNTER },
};

static const struct figure count_figures[] = {
        { NAME("processes"), "Processes in its region.", METRIC_GAUGE },
};

enum { PROCESS_USED, PROCESS_PHYSICAL, PROCESS_VIRTUAL, PROCESS_GPU_SECONDS, PROCESS_FIGURES };

static const struct figure process_figures[PROCESS_FIGURES] = {
        [PROCESS_USED] = { "vgpu_process_memory_used_bytes", "Memory that it holds.",
                           METRIC_GAUGE },
        [PROCESS_PHYSICAL] = { "vgpu_process_memory_physical_bytes",
                               "Of that, what is charged to the device.", METRIC_GAUGE },
        [PROCESS_VIRTUAL] = { "vgpu_process_memory_virtual_bytes",
                              "Of that, what is spilled to host memory.", METRIC_GAUGE },
        [PROCESS_GPU_SECONDS] = { "vgpu_process_gpu_seconds_total",
                                  "Time of the device that it used.", METRIC_COUNTER },
};

/* Labels of a user's share, which must outlive it. */
struct user_label {
        struct user_label *next;
        char user[RUN_FOLDERS_USER], name[64];
};

/* All that is collected before anything is printed. */
struct sheets {
        const struct gpu_set *set;
        const struct figure_row *base;
        struct figure_sheet containers, kinds, counts, processes, devices;
        struct node_usage *usage;
        struct user_label *labels;
        int r;
};

/* One container, while its rows are added. */
struct reading {
        struct sheets *sheets;
        const struct shown_share *share;
        const struct share_copy *copy;
        struct region_reader region; /* closed: there is none, or none that can be read */
        const struct gpu_grant_file *grants;
        struct figure_row *rows[SHARE_DEVICES];
        uint64_t kinds[SHARE_DEVICES][REGION_KINDS];
};

static double seconds(uint64_t ns)
{
        return (double)ns / (double)NS_PER_S;
}

static struct figure_row *row_add(struct sheets *sheets, struct figure_sheet *sheet,
                                  const struct figure_row *like)
{
        struct figure_row *row = figure_sheet_add(sheet, like);

        if (!row)
                sheets->r = -ENOMEM;
        return row;
}

/* Whose it is: of a pod's container, of a container with its engine's name, or of a user. */
static void label_owner(struct figure_row *row, const struct shown_share *share)
{
        if (shown_share_is_users(share)) {
                figure_row_label(row, "user", share->user);
                figure_row_label(row, "name", share->name);
                return;
        }
        figure_row_label(row, "namespace", share->pod_namespace);
        figure_row_label(row, "pod", share->pod);
        figure_row_label(row, "container", share->container);
        if (!*share->pod)
                figure_row_label(row, "name", share->name);
}

static void take_share(struct figure_row *row, const struct share_device *device)
{
        const uint64_t limit = atomic_load(&device->limit_bytes);
        const unsigned cap = share_cap_percent(device);

        if (limit != SHARE_UNLIMITED)
                row->values[LIMIT] = (double)limit;
        if (device->physical_bytes != SHARE_UNLIMITED)
                row->values[PHYSICAL_LIMIT] = (double)device->physical_bytes;
        if (device->cores_percent)
                row->values[CORES] = device->cores_percent / 100.0;
        row->values[CORES_LIMIT] = cap ? cap / 100.0 : 1;
}

/* What it used by the region, as long as nothing was sampled. */
static void take_region(struct figure_row *row, const struct region_reader *region, unsigned device,
                        bool is_limited)
{
        struct reader_device use;

        if (region_reader_device(region, device, clock_now_ns(), &use) < 0)
                return;
        row->values[USED] = (double)use.physical_bytes + (double)use.virtual_bytes;
        row->values[PHYSICAL] = (double)use.physical_bytes;
        row->values[VIRTUAL] = (double)use.virtual_bytes;
        row->values[REFUSALS] = (double)use.refusals;
        row->values[THROTTLED] = use.throttled_ratio;
        row->values[THROTTLED_SECONDS] = seconds(use.throttled_ns);
        /* Without a limit it may measure nothing. */
        if (is_limited || use.busy_ratio > 0)
                row->values[CORES_USED] = use.busy_ratio;
        if (is_limited || use.gpu_ns)
                row->values[GPU_SECONDS] = seconds(use.gpu_ns);
}

static void take_usage(struct figure_row *row, const struct share_usage *usage)
{
        if (usage->is_used_known) {
                row->values[CORES_USED] = usage->used_percent / 100;
                row->values[CORES_USED_SECONDS] = seconds(usage->used_ns);
        }
        if (usage->is_lost_known) {
                row->values[CORES_LOST] = usage->lost_percent / 100;
                row->values[CORES_LOST_SECONDS] = seconds(usage->lost_ns);
        }
}

static void take_timeslices(struct figure_row *row, const struct gpu_grant *grant)
{
        row->values[TIMESLICES] = (double)atomic_load(&grant->timeslices);
        row->values[TIMESLICES_HELD] = seconds(atomic_load(&grant->held_ns));
        row->values[TIMESLICES_WAITED] = seconds(atomic_load(&grant->waited_ns));
        row->values[TIMESLICES_LAPSED] = (double)atomic_load(&grant->lapses);
}

static void add_device(struct reading *reading, unsigned device)
{
        const struct share_device *own = &reading->copy->devices[device];
        struct figure_row *row =
                row_add(reading->sheets, &reading->sheets->containers, reading->sheets->base);
        const int index = reading->sheets->set ? gpu_set_find(reading->sheets->set, own->uuid) : -1;

        reading->rows[device] = row;
        if (!row)
                return;
        figure_row_copy(row, "device_uuid", own->uuid);
        if (index >= 0)
                figure_row_number(row, "device_index", reading->sheets->set->gpus[index].index);
        label_owner(row, reading->share);
        take_share(row, own);
        if (reading->region.compute)
                take_region(row, &reading->region, device, share_cap_percent(own) > 0);
        const struct share_usage *usage =
                node_usage_share(reading->sheets->usage, reading->share, device);
        if (usage)
                take_usage(row, usage);
        if (reading->grants && device < gpu_grant_count(reading->grants))
                take_timeslices(row, &reading->grants->devices[device]);
}

static void add_process(struct reading *reading, const struct reader_process *process,
                        uint32_t slot, bool has_row)
{
        for (unsigned i = 0; i < reading->copy->device_count && reading->rows[i]; i++) {
                struct reader_use use;
                struct figure_row *row;

                if (region_reader_use(&reading->region, slot, i, &use) < 0)
                        return;
                for (unsigned kind = 0; kind < REGION_KINDS; kind++)
                        reading->kinds[i][kind] += use.kinds[kind];
                if (!has_row || (!use.physical_bytes && !use.virtual_bytes && !use.gpu_ns))
                        continue;
                row = row_add(reading->sheets, &reading->sheets->processes, reading->rows[i]);
                if (!row)
                        return;
                figure_row_number(row, "pid", process->pid);
                figure_row_copy(row, "process", process->name);
                row->values[PROCESS_USED] = (double)use.physical_bytes + (double)use.virtual_bytes;
                row->values[PROCESS_PHYSICAL] = (double)use.physical_bytes;
                row->values[PROCESS_VIRTUAL] = (double)use.virtual_bytes;
                row->values[PROCESS_GPU_SECONDS] = seconds(use.gpu_ns);
        }
}

static unsigned add_processes(struct reading *reading)
{
        struct reader_process process;
        unsigned count = 0;

        for (uint32_t slot = 1; slot <= reading->region.slots; slot++)
                if (region_reader_process(&reading->region, slot, &process) == 1)
                        add_process(reading, &process, slot, count++ < METRIC_PROCESSES);
        return count;
}

static void add_kinds(struct reading *reading)
{
        for (unsigned i = 0; i < reading->copy->device_count; i++)
                for (unsigned kind = 0; kind < REGION_KINDS && reading->rows[i]; kind++) {
                        struct figure_row *row =
                                row_add(reading->sheets, &reading->sheets->kinds, reading->rows[i]);

                        if (!row)
                                return;
                        figure_row_label(row, "kind", kind_names[kind]);
                        row->values[0] = (double)reading->kinds[i][kind];
                }
}

static void add_count(struct reading *reading, unsigned processes)
{
        struct figure_row *row =
                row_add(reading->sheets, &reading->sheets->counts, reading->sheets->base);

        if (!row)
                return;
        label_owner(row, reading->share);
        row->values[0] = processes;
}

static void add_share(struct sheets *sheets, const struct shown_share *share)
{
        struct reading reading = { .sheets = sheets, .share = share, .copy = share->copy };
        struct gpu_grant_file *grants = NULL;
        char region[SHARE_TEXT], grant[SHARE_TEXT];

        share_folder_beside(share->path, "region", region);
        gpu_page_grant_path(share->path, grant);
        guard_open_begin(); /* a user's pages may be cut short meanwhile */
        if (gpu_grant_map(grant, PROT_READ, &grants, NULL) == 0)
                reading.grants = grants;
        if (region_reader_open(region, &reading.region, NULL) < 0)
                reading.region = (struct region_reader){ 0 };
        reading.region.is_of_host = shown_share_is_users(share);
        for (unsigned i = 0; i < reading.copy->device_count; i++)
                add_device(&reading, i);
        if (reading.region.compute) {
                const unsigned processes = add_processes(&reading);

                add_count(&reading, processes);
                if (processes)
                        add_kinds(&reading);
        }
        region_reader_close(&reading.region);
        gpu_grant_unmap(grants);
        guard_open_end();
}

static void add_held(void *owner, struct held_share *held)
{
        const struct shown_share shown = shown_share_of(held);

        add_share(owner, &shown);
        share_book_trim_share(held);
}

static void add_users(void *owner, const struct shown_share *share)
{
        struct sheets *sheets = owner;
        struct user_label *label = malloc(sizeof *label);
        struct shown_share lasting = *share;

        if (!label) {
                sheets->r = -ENOMEM;
                return;
        }
        str_copy(label->user, sizeof label->user, share->user);
        str_copy(label->name, sizeof label->name, share->name);
        label->next = sheets->labels;
        sheets->labels = label;
        lasting.user = label->user;
        lasting.name = label->name;
        add_share(sheets, &lasting);
}

static void labels_free(struct user_label *label)
{
        while (label) {
                struct user_label *next = label->next;

                free(label);
                label = next;
        }
}

static void add_devices(struct sheets *sheets)
{
        const struct device_usage *device;

        for (size_t i = 0; (device = node_usage_device(sheets->usage, i)); i++) {
                const int index = sheets->set ? gpu_set_find(sheets->set, device->uuid) : -1;
                struct figure_row *row =
                        index < 0 ? NULL : row_add(sheets, &sheets->devices, sheets->base);

                if (!row)
                        continue;
                figure_row_copy(row, "device_uuid", device->uuid);
                figure_row_number(row, "device_index", sheets->set->gpus[index].index);
                row->values[DEVICE_USED] = device->used_percent / 100;
                row->values[DEVICE_USED_SECONDS] = seconds(device->used_ns);
                if (!device->is_split_told)
                        continue;
                row->values[DEVICE_OUTSIDE] = device->outside_percent / 100;
                row->values[DEVICE_OUTSIDE_SECONDS] = seconds(device->outside_ns);
        }
}

int container_metrics_print(struct share_book *shares, const struct gpu_set *set,
                            struct node_usage *usage, const struct figure_row *base,
                            struct str *out)
{
        struct sheets sheets = {
                .set = set,
                .usage = usage,
                .base = base,
                .containers = { .columns = figures, .column_count = FIGURES },
                .kinds = { .columns = kind_figures, .column_count = 1 },
                .counts = { .columns = count_figures, .column_count = 1 },
                .processes = { .columns = process_figures, .column_count = PROCESS_FIGURES },
                .devices = { .columns = device_figures, .column_count = DEVICE_FIGURES },
        };
        struct figure_sheet *all[] = { &sheets.containers, &sheets.kinds, &sheets.counts,
                                       &sheets.processes, &sheets.devices };

        if (shares)
                share_book_each(shares, add_held, &sheets);
        shown_shares_of_users(add_users, &sheets);
        add_devices(&sheets);
        for (unsigned i = 0; i < sizeof all / sizeof *all && sheets.r == 0; i++)
                sheets.r = figure_sheet_print(all[i], out);
        /* All of them afterwards: rows have labels of others'. */
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
                figure_sheet_done(all[i]);
        labels_free(sheets.labels);
        return sheets.r;
}
