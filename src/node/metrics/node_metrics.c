/* SPDX-License-Identifier: Apache-2.0 */
/* The node's own figures and the devices'; containers' are in container_metrics.c. */
#include "node_metrics.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "clock.h"
#include "container_metrics.h"
#include "figure_sheet.h"
#include "offers.h"
#include "pod_watch.h"
#include "registration.h"

enum {
        DEVICE_TOTAL,
        DEVICE_USED,
        DEVICE_BUSY,
        DEVICE_HEALTHY,
        DEVICE_SLOTS,
        DEVICE_SHARES,
        DEVICE_GIVEN,
        DEVICE_CORES_GIVEN,
        DEVICE_FIGURES
};

static const struct figure device_figures[DEVICE_FIGURES] = {
        [DEVICE_TOTAL] = { "vgpu_device_memory_total_bytes", "Memory of the GPU.", METRIC_GAUGE },
        [DEVICE_USED] = { "vgpu_device_memory_used_bytes",
                          "Memory in use, by the driver's own figure.", METRIC_GAUGE },
        [DEVICE_BUSY] = { "vgpu_device_utilization_ratio",
                          "Part of the time in which the GPU worked, by the driver's own figure.",
                          METRIC_GAUGE },
        [DEVICE_HEALTHY] = { "vgpu_device_healthy", "1: the GPU is handed out.", METRIC_GAUGE },
        [DEVICE_SHARES] = { "vgpu_device_shares", "Containers that have a share of the GPU.",
                            METRIC_GAUGE },
        [DEVICE_GIVEN] = { "vgpu_device_memory_allocated_bytes",
                           "Memory that they may hold together, virtual memory included.",
                           METRIC_GAUGE },
        [DEVICE_CORES_GIVEN] = { "vgpu_device_cores_allocated",
                                 "Parts of the GPU's time that they were given, together; 1: all.",
                                 METRIC_GAUGE },
        [DEVICE_SLOTS] = { "vgpu_device_slots", "How many containers may share the GPU.",
                           METRIC_GAUGE },
};

enum { PART_TOTAL, PART_FIGURES };

static const struct figure part_figures[PART_FIGURES] = {
        [PART_TOTAL] = { "vgpu_mig_device_memory_total_bytes", "Memory of a MIG device.",
                         METRIC_GAUGE },
};

enum { OFFER_COUNT, OFFER_HEALTHY, OFFER_REGISTERED, OFFER_REGISTRATIONS, OFFER_FIGURES };

static const struct figure offer_figures[OFFER_FIGURES] = {
        [OFFER_COUNT] = { "vgpu_node_resource_capacity", "Capacity as reported to kubelet.",
                          METRIC_GAUGE },
        [OFFER_HEALTHY] = { "vgpu_node_resource_healthy", "Of that, what is healthy.",
                            METRIC_GAUGE },
        [OFFER_REGISTERED] = { "vgpu_node_resource_registered",
                               "1: kubelet has taken the registration and listens.", METRIC_GAUGE },
        [OFFER_REGISTRATIONS] = { "vgpu_node_kubelet_registrations_total",
                                  "Registrations that kubelet took.", METRIC_COUNTER },
};

enum {
        NODE_BUILD,
        NODE_UPTIME,
        NODE_GPUS,
        NODE_SHARES,
        NODE_WATCH_AGE,
        NODE_API_ERRORS,
        NODE_API_BAD,
        NODE_FIGURES
};

static const struct figure node_figures[NODE_FIGURES] = {
        [NODE_BUILD] = { "vgpu_node_build_info", "1, with the version as a label.", METRIC_GAUGE },
        [NODE_UPTIME] = { "vgpu_node_uptime_seconds", "Since vgpu-node started.", METRIC_GAUGE },
        [NODE_GPUS] = { "vgpu_node_devices", "GPUs that are handed out.", METRIC_GAUGE },
        [NODE_SHARES] = { "vgpu_node_shares", "Containers that have a share.", METRIC_GAUGE },
        [NODE_WATCH_AGE] = { "vgpu_node_watch_age_seconds",
                             "Since the API server was last heard from.", METRIC_GAUGE },
        [NODE_API_ERRORS] = { "vgpu_node_api_errors_total",
                              "Troubles with the API server that were seen.", METRIC_COUNTER },
        [NODE_API_BAD] = { "vgpu_node_api_bad_objects_total",
                           "Objects that could not be read, or not as they were.", METRIC_COUNTER },
};

/* What stands first on every line, so that any two of them join. */
static struct figure_row base_row(const struct node_metrics_source *source)
{
        struct figure_row row = { 0 };

        figure_row_label(&row, "node", source->node);
        return row;
}

/* What is allotted of each GPU. */
struct allotted {
        const struct gpu_set *set;
        struct {
                unsigned shares, cores_percent;
                double bytes;
        } gpus[GPUS_MOST];
};

static void add_allotted(void *owner, struct held_share *held)
{
        const struct share_copy *copy = share_current(&held->share);
        struct allotted *allotted = owner;

        for (unsigned i = 0; i < copy->device_count; i++) {
                const struct share_device *device = &copy->devices[i];
                const int index = gpu_set_find(allotted->set, device->uuid);
                const uint64_t limit = atomic_load(&device->limit_bytes);

                if (index < 0)
                        continue;
                allotted->gpus[index].shares++;
                allotted->gpus[index].cores_percent += device->cores_percent;
                allotted->gpus[index].bytes += limit == SHARE_UNLIMITED ? 0 : (double)limit;
        }
        share_book_trim_share(held);
}

static int print_devices(const struct node_metrics_source *source, struct str *out)
{
        struct figure_sheet sheet = { .columns = device_figures, .column_count = DEVICE_FIGURES };
        const struct figure_row base = base_row(source);
        struct allotted allotted = { .set = source->set };
        int r = 0;

        if (source->shares)
                share_book_each(source->shares, add_allotted, &allotted);
        for (unsigned i = 0; i < source->set->count && r == 0; i++) {
                const struct gpu *gpu = &source->set->gpus[i];
                struct figure_row *row = figure_sheet_add(&sheet, &base);

                if (!row) {
                        r = -ENOMEM;
                        break;
                }
                figure_row_label(row, "device_uuid", gpu->uuid);
                figure_row_number(row, "device_index", gpu->index);
                figure_row_label(row, "device_name", gpu->name);
                row->values[DEVICE_TOTAL] = (double)gpu->memory_bytes;
                row->values[DEVICE_USED] = (double)gpu->used_bytes;
                if (gpu->is_busy_told)
                        row->values[DEVICE_BUSY] = gpu->busy_percent / 100;
                row->values[DEVICE_HEALTHY] = gpu->is_healthy;
                row->values[DEVICE_SHARES] = allotted.gpus[i].shares;
                row->values[DEVICE_GIVEN] = allotted.gpus[i].bytes;
                row->values[DEVICE_CORES_GIVEN] = allotted.gpus[i].cores_percent / 100.0;
                row->values[DEVICE_SLOTS] = gpu->is_mig ? 0 : source->options->split_count;
        }
        if (r == 0)
                r = figure_sheet_print(&sheet, out);
        figure_sheet_done(&sheet);
        return r;
}

static int print_parts(const struct node_metrics_source *source, struct str *out)
{
        struct figure_sheet sheet = { .columns = part_figures, .column_count = PART_FIGURES };
        const struct figure_row base = base_row(source);
        char profiles[MIG_DEVICES_MOST][MIG_PROFILE_TEXT];
        int r = 0;

        for (unsigned i = 0; i < source->set->part_count && r == 0; i++) {
                const struct mig_device *part = &source->set->parts[i];
                struct figure_row *row = figure_sheet_add(&sheet, &base);

                if (!row) {
                        r = -ENOMEM;
                        break;
                }
                mig_profile_format(&part->profile, MIG_SPELLING_PLAIN, profiles[i]);
                figure_row_label(row, "device_uuid", part->uuid);
                figure_row_number(row, "device_index", source->set->gpus[part->gpu].index);
                figure_row_label(row, "profile", profiles[i]);
                row->values[PART_TOTAL] = (double)part->memory_bytes;
        }
        if (r == 0)
                r = figure_sheet_print(&sheet, out);
        figure_sheet_done(&sheet);
        return r;
}

struct offer_rows {
        const struct figure_row *base;
        struct figure_sheet sheet;
        int r;
};

static void add_offer(void *owner, const struct plugin_state *state)
{
        struct offer_rows *rows = owner;
        struct figure_row *row = figure_sheet_add(&rows->sheet, rows->base);

        if (!row) {
                rows->r = -ENOMEM;
                return;
        }
        figure_row_label(row, "resource", state->resource);
        row->values[OFFER_COUNT] = state->count;
        row->values[OFFER_HEALTHY] = state->healthy;
        row->values[OFFER_REGISTERED] = state->is_registered;
        row->values[OFFER_REGISTRATIONS] = (double)state->registrations;
}

static int print_offers(const struct node_metrics_source *source, struct str *out)
{
        const struct figure_row base = base_row(source);
        struct offer_rows rows = {
                .base = &base,
                .sheet = { .columns = offer_figures, .column_count = OFFER_FIGURES },
        };

        offers_each(source->offers, add_offer, &rows);
        if (rows.r == 0)
                rows.r = figure_sheet_print(&rows.sheet, out);
        figure_sheet_done(&rows.sheet);
        return rows.r;
}

static double seconds_since(uint64_t then_ns)
{
        return (double)(clock_now_ns() - then_ns) / (double)NS_PER_S;
}

static int add_watch(struct figure_sheet *sheet, const struct figure_row *base, const char *of,
                     struct kube_watch_state state)
{
        struct figure_row *row = figure_sheet_add(sheet, base);

        if (!row)
                return -ENOMEM;
        figure_row_label(row, "watch", of);
        row->values[NODE_API_ERRORS] = (double)state.troubles;
        row->values[NODE_API_BAD] = (double)state.bad;
        if (state.heard_ns)
                row->values[NODE_WATCH_AGE] = seconds_since(state.heard_ns);
        return 0;
}

static int print_node(const struct node_metrics_source *source, struct str *out)
{
        struct figure_sheet sheet = { .columns = node_figures, .column_count = NODE_FIGURES };
        const struct figure_row base = base_row(source);
        struct figure_row *row = figure_sheet_add(&sheet, &base);
        struct figure_row *build = figure_sheet_add(&sheet, &base);
        int r = row && build ? 0 : -ENOMEM;

        if (r == 0) {
                figure_row_label(build, "version", VGPU_VERSION);
                build->values[NODE_BUILD] = 1;
                row->values[NODE_UPTIME] = seconds_since(source->started_ns);
                row->values[NODE_GPUS] = source->set ? source->set->count : 0;
                row->values[NODE_SHARES] =
                        source->shares ? (double)share_book_count(source->shares) : 0;
        }
        if (r == 0 && source->registration)
                r = add_watch(&sheet, &base, "node", registration_state(source->registration));
        if (r == 0 && source->pods)
                r = add_watch(&sheet, &base, "pods", pod_watch_state(source->pods));
        if (r == 0)
                r = figure_sheet_print(&sheet, out);
        figure_sheet_done(&sheet);
        return r;
}

int node_metrics_print(const struct node_metrics_source *source, struct str *out)
{
        const struct figure_row base = base_row(source);
        int r = print_node(source, out);

        if (r == 0 && source->offers)
                r = print_offers(source, out);
        if (r == 0 && source->set)
                r = print_devices(source, out);
        if (r == 0 && source->set)
                r = print_parts(source, out);
        if (r == 0 && (source->shares || source->set))
                r = container_metrics_print(source->shares, source->set, source->usage, &base, out);
        return r;
}
