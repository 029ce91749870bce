/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu sim stat: what a machine does now. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "json_out.h"
#include "machine_option.h"
#include "slot.h"
#include "table.h"
#include "timeline.h"
#include "unit_memory.h"

enum { MACHINE, JSON, WATCH, ROWS };

#define WINDOW_NS UINT64_C(1000000000)

const struct cli_option sim_stat_options[] = {
        [MACHINE] = { "machine", "PATH", "the machine; default: VGPU_SIM", "file" },
        [JSON] = { "json", NULL, "print JSON; with --watch, one object per line", NULL },
        [WATCH] = { "watch", NULL, "print again every second, until interrupted", NULL },
        { 0 },
};

static const struct {
        enum machine_counter counter;
        const char *key, *text;
} counters[] = {
        { COUNTER_LAUNCHES, "launches", "launches" },
        { COUNTER_INTERPRETED, "interpreted", "interpreted" },
        { COUNTER_TIMED_ONLY, "timed_only", "timed only" },
        { COUNTER_OVER_BUDGET, "over_budget", "over budget" },
        { COUNTER_CONTENT_DROPPED_BYTES, "content_dropped_bytes", "bytes dropped" },
        { COUNTER_UNSUPPORTED_CALLS, "unsupported_calls", "unsupported calls" },
        { COUNTER_REAPED, "reaped", "reaped" },
        { COUNTER_COPIED_BYTES, "copied_bytes", "bytes copied" },
};
enum { COUNTERS_SHOWN = sizeof counters / sizeof counters[0] };

struct unit_view {
        unsigned index;
        struct unit_memory memory;
        double load, load_in, load_out; /* 0…1 over the last second */
        uint64_t busy_ns;
};

static bool unit_sample(struct machine *machine, unsigned index, struct unit_view *ret_view)
{
        const struct machine_unit *unit = machine_unit(machine, index);

        if (!unit->is_active)
                return false;
        timeline_advance(machine, index);
        *ret_view = (struct unit_view){
                .index = index,
                .load = timeline_unit_load(machine, index, ENGINE_COMPUTE, WINDOW_NS),
                .load_in = timeline_unit_load(machine, index, ENGINE_IN, WINDOW_NS),
                .load_out = timeline_unit_load(machine, index, ENGINE_OUT, WINDOW_NS),
                .busy_ns = unit->engines[ENGINE_COMPUTE].busy_ns,
        };
        unit_memory(machine, index, &ret_view->memory);
        return true;
}

static unsigned percent(double share)
{
        return (unsigned)(share * 100 + 0.5);
}

static void stat_units(struct machine *machine)
{
        static const char *const titles[] = { "GPU",  "NAME", "USED", "FREE", "TOTAL",
                                              "LOAD", "IN",   "OUT",  "BUSY" };
        const unsigned count = machine->file->header.gpu_count * MACHINE_UNITS_PER_GPU;
        struct unit_view view;
        struct table table;

        table_init(&table, titles, 9);
        for (unsigned i = 0; i < count; i++) {
                const unsigned instance = i % MACHINE_UNITS_PER_GPU;
                const struct machine_gpu *gpu = machine_gpu(machine, i / MACHINE_UNITS_PER_GPU);

                if (!unit_sample(machine, i, &view))
                        continue;
                if (instance)
                        table_add(&table, "%u:%u", i / MACHINE_UNITS_PER_GPU, instance);
                else
                        table_add(&table, "%u", i / MACHINE_UNITS_PER_GPU);
                table_add(&table, "%s%s", instance ? "  MIG instance" : gpu->name,
                          atomic_load(&gpu->is_lost) ? " (lost)" : "");
                table_add(&table, "%" PRIu64 "MiB", view.memory.used_bytes >> 20);
                table_add(&table, "%" PRIu64 "MiB", view.memory.free_bytes >> 20);
                table_add(&table, "%" PRIu64 "MiB", view.memory.total_bytes >> 20);
                table_add(&table, "%u%%", percent(view.load));
                table_add(&table, "%u%%", percent(view.load_in));
                table_add(&table, "%u%%", percent(view.load_out));
                table_add(&table, "%.3fs", (double)view.busy_ns / 1e9);
        }
        table_print(&table);
}

static double channel_load(struct machine *machine, const struct machine_slot_unit *held)
{
        return held->channel ? timeline_channel_load(machine, held->channel - 1, WINDOW_NS) : 0;
}

static void stat_processes(struct machine *machine)
{
        static const char *const titles[] = { "GPU",      "PID",  "DEVICE", "MANAGED",
                                              "CONTEXTS", "LOAD", "PROGRAM" };
        const uint32_t high = atomic_load(&machine->file->header.slots_high);
        struct table table;

        table_init(&table, titles, 7);
        for (uint32_t i = 0; i < high; i++) {
                const struct machine_slot *slot = &machine->file->slots[i];

                if (!slot_is_alive(machine, i))
                        continue;
                for (unsigned u = 0; u < MACHINE_UNITS; u++) {
                        const struct machine_slot_unit *held = &slot->units[u];

                        if (!held->contexts && !held->device_bytes && !held->managed_bytes)
                                continue;
                        table_add(&table, "%u", u / MACHINE_UNITS_PER_GPU);
                        table_add(&table, "%d", slot->pid);
                        table_add(&table, "%" PRIu64 "MiB", held->device_bytes >> 20);
                        table_add(&table, "%" PRIu64 "MiB", held->managed_bytes >> 20);
                        table_add(&table, "%u", held->contexts);
                        table_add(&table, "%u%%", percent(channel_load(machine, held)));
                        table_add(&table, "%s", slot->path);
                }
        }
        putchar('\n');
        if (table.cell_count > 0)
                table_print(&table);
        else
                printf("no processes\n");
}

static void stat_counters(const struct machine *machine)
{
        printf("\nsince its creation: ");
        for (unsigned i = 0; i < COUNTERS_SHOWN; i++)
                printf("%s%" PRIu64 " %s", i ? ", " : "",
                       atomic_load(&machine->file->header.counters[counters[i].counter]),
                       counters[i].text);
        putchar('\n');
}

static void json_units(struct json_out *json, struct machine *machine)
{
        const unsigned count = machine->file->header.gpu_count * MACHINE_UNITS_PER_GPU;
        struct unit_view view;

        json_out_open(json, "gpus", '[');
        for (unsigned i = 0; i < count; i++) {
                const struct machine_gpu *gpu = machine_gpu(machine, i / MACHINE_UNITS_PER_GPU);

                if (!unit_sample(machine, i, &view))
                        continue;
                json_out_open(json, NULL, '{');
                json_out_number(json, "gpu", i / MACHINE_UNITS_PER_GPU);
                json_out_number(json, "instance", i % MACHINE_UNITS_PER_GPU);
                json_out_string(json, "uuid", gpu->uuid);
                json_out_bool(json, "lost", atomic_load(&gpu->is_lost));
                json_out_number(json, "total_bytes", view.memory.total_bytes);
                json_out_number(json, "used_bytes", view.memory.used_bytes);
                json_out_number(json, "free_bytes", view.memory.free_bytes);
                json_out_number(json, "managed_bytes", view.memory.managed_bytes);
                json_out_number(json, "outsider_bytes", machine_unit(machine, i)->outsider_bytes);
                json_out_number(json, "busy_ns", view.busy_ns);
                json_out_real(json, "load", view.load);
                json_out_real(json, "load_in", view.load_in);
                json_out_real(json, "load_out", view.load_out);
                json_out_number(json, "ecc_corrected", atomic_load(&gpu->ecc_corrected));
                json_out_number(json, "ecc_uncorrected", atomic_load(&gpu->ecc_uncorrected));
                json_out_close(json, '}');
        }
        json_out_close(json, ']');
}

static void json_process(struct json_out *json, struct machine *machine,
                         const struct machine_slot *slot)
{
        json_out_open(json, NULL, '{');
        json_out_signed(json, "pid", slot->pid);
        json_out_string(json, "program", slot->path);
        json_out_number(json, "launches", slot->launches);
        json_out_number(json, "content_bytes", atomic_load(&slot->content_bytes));
        json_out_open(json, "holds", '[');
        for (unsigned u = 0; u < MACHINE_UNITS; u++) {
                const struct machine_slot_unit *held = &slot->units[u];

                if (!held->contexts && !held->device_bytes && !held->managed_bytes)
                        continue;
                json_out_open(json, NULL, '{');
                json_out_number(json, "gpu", u / MACHINE_UNITS_PER_GPU);
                json_out_number(json, "instance", u % MACHINE_UNITS_PER_GPU);
                json_out_number(json, "device_bytes", held->device_bytes);
                json_out_number(json, "managed_bytes", held->managed_bytes);
                json_out_number(json, "context_bytes", held->context_bytes);
                json_out_number(json, "contexts", held->contexts);
                json_out_real(json, "load", channel_load(machine, held));
                json_out_close(json, '}');
        }
        json_out_close(json, ']');
        json_out_close(json, '}');
}

static void stat_json(struct machine *machine, bool is_line)
{
        const uint32_t high = atomic_load(&machine->file->header.slots_high);
        struct json_out json = { .is_line = is_line };

        json_out_open(&json, NULL, '{');
        json_out_number(&json, "time_ns", machine_now_ns(machine));
        json_units(&json, machine);
        json_out_open(&json, "processes", '[');
        for (uint32_t i = 0; i < high; i++)
                if (slot_is_alive(machine, i))
                        json_process(&json, machine, &machine->file->slots[i]);
        json_out_close(&json, ']');
        json_out_open(&json, "counters", '{');
        for (unsigned i = 0; i < COUNTERS_SHOWN; i++)
                json_out_number(&json, counters[i].key,
                                atomic_load(&machine->file->header.counters[counters[i].counter]));
        json_out_close(&json, '}');
        json_out_close(&json, '}');
}

static void stat_print(struct machine *machine, bool is_json, bool is_watch)
{
        slot_reap(machine);
        if (is_json) {
                stat_json(machine, is_watch);
                return;
        }
        if (is_watch && isatty(STDOUT_FILENO))
                printf("\033[H\033[2J");
        stat_units(machine);
        stat_processes(machine);
        stat_counters(machine);
}

int command_sim_stat(const struct command *command, int argc, char **argv)
{
        bool flags[ROWS] = { false };
        struct machine machine;
        int code;

        if (!machine_option_begin(command, argc, argv, flags, &machine, &code))
                return code;
        stat_print(&machine, flags[JSON], flags[WATCH]);
        while (flags[WATCH] && fflush(stdout) == 0) {
                sleep(1);
                stat_print(&machine, flags[JSON], flags[WATCH]);
        }
        machine_close(&machine);
        return EXIT_OK;
}
