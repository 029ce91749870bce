/* Of each container and device: what it may have, by its share; what it has, by its own account; how its
 * turns go, by the arbiter's page. */
#include "container_metrics.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "account_view.h"
#include "clock.h"
#include "share_folder.h"

enum {
        LIMIT,
        PHYSICAL_LIMIT,
        USED,
        PHYSICAL,
        VIRTUAL,
        REFUSALS,
        CORES_LIMIT,
        CORES_USED,
        GPU_SECONDS,
        THROTTLED,
        TURNS,
        TURNS_HELD,
        TURNS_WAITED,
        TURNS_LAPSED,
        FIGURES,
};

#define NAME(rest) "vgpu_container_" rest

static const struct figure figures[FIGURES] = {
        [LIMIT] = { NAME("memory_limit_bytes"), "Memory that it may hold; none: no limit.",
                    METRIC_GAUGE },
        [PHYSICAL_LIMIT] = { NAME("memory_physical_limit_bytes"),
                             "Of the limit, what may lie on the device; the rest is virtual.",
                             METRIC_GAUGE },
        [USED] = { NAME("memory_used_bytes"), "Memory that it holds.", METRIC_GAUGE },
        [PHYSICAL] = { NAME("memory_physical_bytes"), "Of that, what is charged to the device.",
                       METRIC_GAUGE },
        [VIRTUAL] = { NAME("memory_virtual_bytes"),
                      "Of that, what lies on the host in the place of device memory.",
                      METRIC_GAUGE },
        [REFUSALS] = { NAME("memory_refusals_total"), "Allocations refused at the limit.",
                       METRIC_COUNTER },
        [CORES_LIMIT] = { NAME("cores_limit_ratio"),
                          "Part of the device's time that it may use; 1: all.", METRIC_GAUGE },
        [CORES_USED] = { NAME("cores_used_ratio"),
                         "Part of the device's time that it used in the last second.",
                         METRIC_GAUGE },
        [GPU_SECONDS] = { NAME("gpu_seconds_total"), "Time of the device that it used.",
                          METRIC_COUNTER },
        [THROTTLED] = { NAME("throttled_seconds_total"),
                        "Time that its threads waited because of its limit of compute.",
                        METRIC_COUNTER },
        [TURNS] = { NAME("turns_total"), "Turns that the arbiter gave it.", METRIC_COUNTER },
        [TURNS_HELD] = { NAME("turns_held_seconds_total"), "Time that it had the turn.",
                         METRIC_COUNTER },
        [TURNS_WAITED] = { NAME("turns_waited_seconds_total"), "Time that it waited for its turn.",
                           METRIC_COUNTER },
        [TURNS_LAPSED] = { NAME("turns_lapsed_total"),
                           "Turns taken away because it did not come to an end.", METRIC_COUNTER },
};

static const struct figure kind_figures[] = {
        { NAME("memory_kind_bytes"), "What it holds on the device, by what it is for.",
          METRIC_GAUGE },
};

static const char *const kind_names[REGION_KINDS] = { [REGION_DEVICE] = "device",
                                                      [REGION_MANAGED] = "managed",
                                                      [REGION_CONTEXT] = "context",
                                                      [REGION_OTHER] = "other" };

static const struct figure count_figures[] = {
        { NAME("processes"), "Processes that have joined its account.", METRIC_GAUGE },
};

enum { PROCESS_USED, PROCESS_PHYSICAL, PROCESS_VIRTUAL, PROCESS_GPU_SECONDS, PROCESS_FIGURES };

static const struct figure process_figures[PROCESS_FIGURES] = {
        [PROCESS_USED] = { "vgpu_process_memory_used_bytes", "Memory that it holds.",
                           METRIC_GAUGE },
        [PROCESS_PHYSICAL] = { "vgpu_process_memory_physical_bytes",
                               "Of that, what is charged to the device.", METRIC_GAUGE },
        [PROCESS_VIRTUAL] = { "vgpu_process_memory_virtual_bytes",
                              "Of that, what lies on the host in its place.", METRIC_GAUGE },
        [PROCESS_GPU_SECONDS] = { "vgpu_process_gpu_seconds_total",
                                  "Time of the device that it used.", METRIC_COUNTER },
};

/* All that is collected before anything is printed. */
struct sheets {
        const struct gpu_set *set;
        const struct figure_row *base;
        struct figure_sheet containers, kinds, counts, processes;
        int r;
};

/* One container, while it is looked at. */
struct looking {
        struct sheets *sheets;
        const struct held_share *held;
        const struct share_copy *copy;
        struct account_view account; /* closed: there is none, or none that can be read */
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

static void label_container(struct figure_row *row, const struct held_share *held)
{
        figure_row_label(row, "namespace", held->pod_namespace);
        figure_row_label(row, "pod", held->pod);
        figure_row_label(row, "container", held->container);
}

static void take_share(struct figure_row *row, const struct share_device *device)
{
        const uint64_t limit = atomic_load(&device->limit_bytes);
        const unsigned cap = share_cap_percent(device);

        if (limit != SHARE_UNLIMITED)
                row->values[LIMIT] = (double)limit;
        if (device->physical_bytes != SHARE_UNLIMITED)
                row->values[PHYSICAL_LIMIT] = (double)device->physical_bytes;
        row->values[CORES_LIMIT] = cap ? cap / 100.0 : 1;
}

static void take_account(struct figure_row *row, const struct account_view *account,
                         unsigned device)
{
        struct account_device use;

        if (account_view_device(account, device, clock_now_ns(), &use) < 0)
                return;
        row->values[USED] = (double)use.physical_bytes + (double)use.virtual_bytes;
        row->values[PHYSICAL] = (double)use.physical_bytes;
        row->values[VIRTUAL] = (double)use.virtual_bytes;
        row->values[REFUSALS] = (double)use.refusals;
        row->values[CORES_USED] = use.busy_ratio;
        row->values[GPU_SECONDS] = seconds(use.gpu_ns);
        row->values[THROTTLED] = seconds(use.throttled_ns);
}

static void take_turns(struct figure_row *row, const struct gpu_grant *grant)
{
        row->values[TURNS] = (double)atomic_load(&grant->turns);
        row->values[TURNS_HELD] = seconds(atomic_load(&grant->held_ns));
        row->values[TURNS_WAITED] = seconds(atomic_load(&grant->waited_ns));
        row->values[TURNS_LAPSED] = (double)atomic_load(&grant->lapses);
}

static void add_device(struct looking *looking, unsigned device)
{
        const struct share_device *own = &looking->copy->devices[device];
        struct figure_row *row =
                row_add(looking->sheets, &looking->sheets->containers, looking->sheets->base);
        const int place = looking->sheets->set ? gpu_set_find(looking->sheets->set, own->uuid) : -1;

        looking->rows[device] = row;
        if (!row)
                return;
        figure_row_copy(row, "device_uuid", own->uuid);
        if (place >= 0)
                figure_row_number(row, "device_index", looking->sheets->set->gpus[place].index);
        label_container(row, looking->held);
        take_share(row, own);
        if (looking->account.compute)
                take_account(row, &looking->account, device);
        if (looking->grants && device < looking->grants->device_count)
                take_turns(row, &looking->grants->devices[device]);
}

static void add_process(struct looking *looking, const struct account_process *process,
                        uint32_t slot, bool has_row)
{
        for (unsigned i = 0; i < looking->copy->device_count && looking->rows[i]; i++) {
                struct account_use use;
                struct figure_row *row;

                if (account_view_use(&looking->account, slot, i, &use) < 0)
                        return;
                for (unsigned kind = 0; kind < REGION_KINDS; kind++)
                        looking->kinds[i][kind] += use.kinds[kind];
                if (!has_row || (!use.physical_bytes && !use.virtual_bytes && !use.gpu_ns))
                        continue;
                row = row_add(looking->sheets, &looking->sheets->processes, looking->rows[i]);
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

static unsigned add_processes(struct looking *looking)
{
        struct account_process process;
        unsigned count = 0;

        for (uint32_t slot = 1; slot <= looking->account.slots; slot++)
                if (account_view_process(&looking->account, slot, &process) == 1)
                        add_process(looking, &process, slot, count++ < METRIC_PROCESSES);
        return count;
}

static void add_kinds(struct looking *looking)
{
        for (unsigned i = 0; i < looking->copy->device_count; i++)
                for (unsigned kind = 0; kind < REGION_KINDS && looking->rows[i]; kind++) {
                        struct figure_row *row =
                                row_add(looking->sheets, &looking->sheets->kinds, looking->rows[i]);

                        if (!row)
                                return;
                        figure_row_label(row, "kind", kind_names[kind]);
                        row->values[0] = (double)looking->kinds[i][kind];
                }
}

static void add_count(struct looking *looking, unsigned processes)
{
        struct figure_row *row =
                row_add(looking->sheets, &looking->sheets->counts, looking->sheets->base);

        if (!row)
                return;
        label_container(row, looking->held);
        row->values[0] = processes;
}

static void look_at(void *owner, struct held_share *held)
{
        struct looking looking = { .sheets = owner,
                                   .held = held,
                                   .copy = share_current(&held->share) };
        struct gpu_grant_file *grants = NULL;
        char region[SHARE_TEXT], grant[SHARE_TEXT];

        share_folder_beside(held->path, "region", region);
        gpu_page_grant_path(held->path, grant);
        if (gpu_grant_map(grant, PROT_READ, &grants, NULL) == 0)
                looking.grants = grants;
        if (account_view_open(region, &looking.account, NULL) < 0)
                looking.account = (struct account_view){ 0 };
        for (unsigned i = 0; i < looking.copy->device_count; i++)
                add_device(&looking, i);
        if (looking.account.compute) {
                const unsigned processes = add_processes(&looking);

                add_count(&looking, processes);
                if (processes)
                        add_kinds(&looking);
        }
        account_view_close(&looking.account);
        gpu_grant_unmap(grants);
        share_book_rest_share(held);
}

int container_metrics_print(struct share_book *shares, const struct gpu_set *set,
                            const struct figure_row *base, struct str *out)
{
        struct sheets sheets = {
                .set = set,
                .base = base,
                .containers = { .columns = figures, .column_count = FIGURES },
                .kinds = { .columns = kind_figures, .column_count = 1 },
                .counts = { .columns = count_figures, .column_count = 1 },
                .processes = { .columns = process_figures, .column_count = PROCESS_FIGURES },
        };
        struct figure_sheet *all[] = { &sheets.containers, &sheets.kinds, &sheets.counts,
                                       &sheets.processes };

        share_book_each(shares, look_at, &sheets);
        for (unsigned i = 0; i < sizeof all / sizeof *all && sheets.r == 0; i++)
                sheets.r = figure_sheet_print(all[i], out);
        /* All of them afterwards: rows have labels of others'. */
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
                figure_sheet_done(all[i]);
        return sheets.r;
}
