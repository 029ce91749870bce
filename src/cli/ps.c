/* vgpu ps: who holds what, share by share. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "command.h"
#include "json_out.h"
#include "node_shares.h"
#include "ps_turns.h"
#include "quantity.h"
#include "region_compute.h"
#include "residency.h"
#include "scan.h"
#include "share_compute.h"
#include "share_look.h"
#include "share_memory.h"
#include "share_place.h"
#include "table.h"

enum { JSON };

const struct cli_option ps_options[] = {
        [JSON] = { "json", NULL, "print JSON", NULL },
        { 0 },
};

static const char *const kind_names[REGION_KINDS] = {
        [REGION_DEVICE] = "device_bytes",
        [REGION_MANAGED] = "managed_bytes",
        [REGION_CONTEXT] = "context_bytes",
        [REGION_OTHER] = "other_bytes",
};

struct listing {
        struct table table;
        struct json_out json;
        bool is_json;
};

/* One process on one device. */
struct row {
        const struct share_copy *copy;
        const struct region *region; /* NULL: no process of the share has used a GPU yet */
        uint32_t slot;
        unsigned device;
};

/* On the host, in the place of device memory. */
static uint64_t row_virtual(const struct row *row)
{
        return region_held_bytes(row->region, row->slot, region_virtual(row->device));
}

static uint64_t row_held(const struct row *row)
{
        return region_held_bytes(row->region, row->slot, row->device) + row_virtual(row);
}

/* Has it anything to do with the device? */
static bool row_is_used(const struct row *row)
{
        return row_held(row) > 0 ||
               atomic_load(&row->region->file->slots[row->slot].gpu_ns[row->device]) > 0;
}

/* On the GPU now, as the driver says. */
static bool row_resident(const struct row *row, uint64_t *ret_bytes)
{
        const struct region_slot *slot = &row->region->file->slots[row->slot];
        const uint32_t host_pid = atomic_load(&slot->host_pid);
        const pid_t pid = (pid_t)(host_pid ? host_pid : atomic_load(&slot->state) >> 32);

        return residency_bytes(pid, row->copy->devices[row->device].uuid, ret_bytes);
}

/* What has no note of its own (pools, what is being measured) is other. */
static uint64_t row_kind(const struct row *row, enum region_kind kind)
{
        struct region_account *account = &row->region->file->slots[row->slot].accounts[row->device];
        uint64_t noted = 0;

        if (kind != REGION_OTHER)
                return atomic_load(&account->kinds[kind]);
        for (unsigned i = 0; i < REGION_OTHER; i++)
                noted += atomic_load(&account->kinds[i]);
        const uint64_t held = region_held_bytes(row->region, row->slot, row->device);
        return held > noted ? held - noted : 0;
}

static void size_add(struct table *table, uint64_t bytes)
{
        char text[QUANTITY_TEXT_BYTES];

        quantity_format_bytes(bytes, text);
        table_add(table, "%s", text);
}

/* "-": it may hold what the GPU has. */
static void limit_add(struct table *table, uint64_t bytes)
{
        if (bytes == SHARE_UNLIMITED)
                table_add(table, "-");
        else
                size_add(table, bytes);
}

enum { LOOK_MS = 1000 };

/* Of the GPU's time in the last second. */
static double cores_used(const struct region *region, unsigned gpu)
{
        return region ? (double)region_compute_used_ns(&region->file->computes[gpu], clock_now_ns(),
                                                       LOOK_MS) /
                                ((double)LOOK_MS * (double)NS_PER_MS)
                      : 0;
}

/* "29.8/30%": what the whole share used, of what it may. */
static void cores_add(struct table *table, const struct share_copy *copy,
                      const struct region *region, unsigned gpu)
{
        const unsigned cap = gpu < copy->device_count ? share_cap_percent(&copy->devices[gpu]) : 0;

        if (cap)
                table_add(table, "%.1f/%u%%", cores_used(region, gpu) * 100, cap);
        else
                table_add(table, "-");
}

static void row_table(struct table *table, const struct row *row)
{
        const struct region_slot *slot = &row->region->file->slots[row->slot];
        uint64_t resident;

        table_add(table, "%s", row->copy->name);
        table_add(table, "%" PRIu64, atomic_load(&slot->state) >> 32);
        table_add(table, "%.39s", slot->name);
        table_add(table, "%u", row->device);
        size_add(table, row_held(row));
        for (unsigned kind = 0; kind < REGION_KINDS; kind++)
                size_add(table, row_kind(row, kind));
        size_add(table, row_virtual(row));
        if (row_resident(row, &resident))
                size_add(table, resident);
        else
                table_add(table, "-");
        limit_add(table, row->copy->devices[row->device].limit_bytes);
        cores_add(table, row->copy, row->region, row->device);
}

/* The share lives, but none of its processes has used a GPU yet. */
static void idle_table(struct table *table, const struct share_copy *copy)
{
        table_add(table, "%s", copy->name);
        for (unsigned i = 0; i < 10; i++)
                table_add(table, "-");
        limit_add(table, copy->device_count ? copy->devices[0].limit_bytes : 0);
        cores_add(table, copy, NULL, 0);
}

static void row_json(struct json_out *json, const struct row *row)
{
        uint64_t resident;

        json_open(json, NULL, '{');
        json_number(json, "gpu", row->device);
        json_string(json, "uuid", row->copy->devices[row->device].uuid);
        json_number(json, "held_bytes", row_held(row));
        json_number(json, "physical_bytes", row_held(row) - row_virtual(row));
        json_number(json, "virtual_bytes", row_virtual(row));
        if (row_resident(row, &resident))
                json_number(json, "resident_bytes", resident);
        for (unsigned kind = 0; kind < REGION_KINDS; kind++)
                json_number(json, kind_names[kind], row_kind(row, kind));
        json_number(json, "gpu_ns",
                    atomic_load(&row->region->file->slots[row->slot].gpu_ns[row->device]));
        json_close(json, '}');
}

static void process_json(struct listing *list, struct row *row)
{
        const struct region_slot *slot = &row->region->file->slots[row->slot];

        json_open(&list->json, NULL, '{');
        json_number(&list->json, "pid", atomic_load(&slot->state) >> 32);
        json_string(&list->json, "program", slot->name);
        json_open(&list->json, "gpus", '[');
        for (row->device = 0; row->device < row->copy->device_count; row->device++)
                if (row_is_used(row))
                        row_json(&list->json, row);
        json_close(&list->json, ']');
        json_close(&list->json, '}');
}

/* A process that holds nothing is shown once, on the first GPU. */
static void process_table(struct listing *list, struct row *row)
{
        bool is_shown = false;

        for (row->device = 0; row->device < row->copy->device_count; row->device++) {
                if (!row_is_used(row))
                        continue;
                row_table(&list->table, row);
                is_shown = true;
        }
        row->device = 0;
        if (!is_shown)
                row_table(&list->table, row);
}

static unsigned list_processes(struct listing *list, const struct share_copy *copy,
                               const struct region *region)
{
        const uint32_t high = region_slots_high(region);
        unsigned count = 0;

        for (uint32_t i = 1; i <= high; i++) {
                struct row row = { .copy = copy, .region = region, .slot = i };

                if (!region_slot_is_alive(region, i))
                        continue;
                count++;
                if (list->is_json)
                        process_json(list, &row);
                else
                        process_table(list, &row);
        }
        return count;
}

static void compute_json(struct json_out *json, const struct share_device *device,
                         const struct region *region, unsigned gpu)
{
        const struct region_compute *compute = region ? &region->file->computes[gpu] : NULL;

        json_number(json, "cores_percent", device->cores_percent);
        json_number(json, "cores_max_percent", share_cap_percent(device));
        json_bool(json, "is_latency", device->flags & SHARE_LATENCY);
        json_bool(json, "copies_count", device->flags & SHARE_COPIES_COUNT);
        json_real(json, "cores_used_ratio", cores_used(region, gpu));
        json_number(json, "gpu_ns", compute ? atomic_load(&compute->gpu_ns) : 0);
        json_number(json, "throttled_ns", compute ? atomic_load(&compute->throttled_ns) : 0);
}

static void device_json(struct json_out *json, const struct share_copy *copy,
                        const struct region *region, unsigned gpu)
{
        const struct share_device *device = &copy->devices[gpu];
        const uint64_t physical = region ? region_used_bytes(region, gpu) : 0;
        const uint64_t virtual = region ? region_used_bytes(region, region_virtual(gpu)) : 0;

        json_open(json, NULL, '{');
        json_number(json, "gpu", gpu);
        json_string(json, "uuid", device->uuid);
        json_number(json, "limit_bytes", device->limit_bytes);
        json_number(json, "physical_limit_bytes", device->physical_bytes);
        json_number(json, "virtual_limit_bytes",
                    share_memory_whole(device) - device->physical_bytes);
        json_number(json, "held_bytes", physical + virtual);
        json_number(json, "physical_bytes", physical);
        json_number(json, "virtual_bytes", virtual);
        compute_json(json, device, region, gpu);
        ps_turns_json(json, copy, gpu);
        json_close(json, '}');
}

static void share_json_open(struct json_out *json, const struct share_copy *copy,
                            const struct region *region)
{
        json_open(json, NULL, '{');
        json_string(json, "name", copy->name);
        json_string(json, "program", copy->container);
        json_bool(json, "context_exempt", copy->devices[0].flags & SHARE_CONTEXT_EXEMPT);
        json_open(json, "gpus", '[');
        for (unsigned i = 0; i < copy->device_count; i++)
                device_json(json, copy, region, i);
        json_close(json, ']');
        json_open(json, "processes", '[');
}

static int list_share(const char *path, void *user)
{
        struct listing *list = user;
        struct share_look look;
        struct err e = { 0 };
        unsigned processes = 0;

        if (!share_look_open(path, &look, &e))
                return EXIT_FAILED;
        if (list->is_json)
                share_json_open(&list->json, look.copy, look.region);
        if (look.region) {
                processes = list_processes(list, look.copy, look.region);
                share_place_check(look.copy, look.region, &e);
        }
        if (list->is_json) {
                json_close(&list->json, ']');
                json_close(&list->json, '}');
        } else if (processes == 0) {
                idle_table(&list->table, look.copy);
        }
        share_look_close(&look);
        return e.text[0] ? complain(EXIT_FAILED, "%s", e.text) : EXIT_OK;
}

/* The user's own, then the node's. */
static int list_all(struct listing *list)
{
        const int code = share_look_each(list_share, list);
        const int of_node = node_shares_ps(&list->table, list->is_json ? &list->json : NULL);

        return of_node ? of_node : code;
}

static int ps_print(struct listing *list)
{
        static const char *const titles[] = { "SHARE",    "PID",     "PROGRAM", "GPU",   "HELD",
                                              "DEVICE",   "MANAGED", "CONTEXT", "OTHER", "VIRTUAL",
                                              "RESIDENT", "LIMIT",   "CORES" };
        int code;

        if (list->is_json) {
                json_open(&list->json, NULL, '{');
                json_open(&list->json, "shares", '[');
                code = list_all(list);
                json_close(&list->json, ']');
                json_close(&list->json, '}');
                return code;
        }
        table_init(&list->table, titles, 13);
        code = list_all(list);
        table_print(&list->table);
        return code;
}

int command_ps(const struct command *command, int argc, char **argv)
{
        struct listing list = { 0 };
        int code;

        return scan_json(command, argc, argv, &list.is_json, &code) ? ps_print(&list) : code;
}
