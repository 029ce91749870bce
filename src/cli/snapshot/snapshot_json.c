/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that names things in JSON. What is not known, or not limited, is null. */
#include "snapshot_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"

static const char *const kind_names[REGION_KINDS] = {
        [REGION_DEVICE] = "device_bytes",
        [REGION_MANAGED] = "managed_bytes",
        [REGION_CONTEXT] = "context_bytes",
        [REGION_OTHER] = "other_bytes",
};

static void text_json(struct json_out *json, const char *key, const char *text)
{
        if (*text)
                json_out_string(json, key, text);
        else
                json_out_null(json, key);
}

static void limit_json(struct json_out *json, const char *key, uint64_t bytes)
{
        if (bytes == SHARE_UNLIMITED)
                json_out_null(json, key);
        else
                json_out_number(json, key, bytes);
}

static void count_json(struct json_out *json, const char *key, uint64_t count, bool is_known)
{
        if (is_known && count != SNAPSHOT_UNKNOWN)
                json_out_number(json, key, count);
        else
                json_out_null(json, key);
}

static void real_json(struct json_out *json, const char *key, double value, bool is_known)
{
        if (is_known)
                json_out_real(json, key, value);
        else
                json_out_null(json, key);
}

static void percent_json(struct json_out *json, const char *key, unsigned percent)
{
        if (percent)
                json_out_number(json, key, percent);
        else
                json_out_null(json, key);
}

/* Its number and UUID, the same wherever it is named. */
static void gpu_name_json(struct json_out *json, const struct snapshot *snapshot, const char *uuid)
{
        const struct gpu_view *gpu = snapshot_gpu(snapshot, uuid);

        if (gpu)
                json_out_number(json, "gpu", gpu->index);
        else
                json_out_null(json, "gpu");
        json_out_string(json, "uuid", uuid);
}

/* What its shares are promised, hold and use together. */
struct gpu_sum {
        uint64_t held_bytes, throttled_ns;
        unsigned cores_percent;
        double used_percent, throttled_percent; /* throttled: of the share that waited longest */
};

static struct gpu_sum gpu_sum(const struct snapshot *snapshot, const char *uuid)
{
        struct gpu_sum sum = { 0 };

        for (size_t i = 0; i < snapshot->shares.count; i++) {
                const struct share_view *share = vec_at(&snapshot->shares, i);

                for (size_t j = 0; j < share->gpus.count; j++) {
                        const struct share_gpu *gpu = vec_at(&share->gpus, j);

                        if (strcmp(gpu->uuid, uuid) != 0)
                                continue;
                        sum.held_bytes += gpu->physical_bytes;
                        sum.cores_percent += gpu->cores_percent;
                        sum.used_percent += gpu->cores_used_percent;
                        sum.throttled_ns += gpu->throttled_ns;
                        if (gpu->throttled_percent > sum.throttled_percent)
                                sum.throttled_percent = gpu->throttled_percent;
                }
        }
        return sum;
}

static void gpu_json(struct json_out *json, const struct snapshot *snapshot,
                     const struct gpu_view *gpu)
{
        const struct gpu_sum sum = gpu_sum(snapshot, gpu->uuid);

        json_out_open(json, NULL, '{');
        json_out_number(json, "gpu", gpu->index);
        json_out_number(json, "instance", gpu->instance);
        json_out_string(json, "uuid", gpu->uuid);
        text_json(json, "name", gpu->name);
        json_out_bool(json, "is_healthy", gpu->is_healthy);
        limit_json(json, "total_bytes", gpu->total_bytes ? gpu->total_bytes : SHARE_UNLIMITED);
        limit_json(json, "used_bytes", gpu->is_told ? gpu->used_bytes : SHARE_UNLIMITED);
        json_out_number(json, "held_bytes", sum.held_bytes);
        real_json(json, "busy_percent", gpu->busy_percent, gpu->is_busy_told);
        json_out_number(json, "cores_percent", sum.cores_percent);
        json_out_real(json, "cores_used_percent", sum.used_percent);
        json_out_real(json, "throttled_percent", sum.throttled_percent);
        real_json(json, "outside_percent", gpu->outside_percent, gpu->is_split_told);
        count_json(json, "cores_used_ns", gpu->cores_used_ns, true);
        json_out_number(json, "throttled_ns", sum.throttled_ns);
        count_json(json, "outside_ns", gpu->outside_ns, true);
        json_out_close(json, '}');
}

static void timeslices_json(struct json_out *json, const struct share_gpu *gpu)
{
        json_out_number(json, "timeslices", gpu->timeslices);
        json_out_number(json, "timeslices_lapsed", gpu->timeslices_lapsed);
        json_out_number(json, "timeslice_held_ns", gpu->timeslice_held_ns);
        json_out_number(json, "timeslice_waited_ns", gpu->timeslice_waited_ns);
        json_out_number(json, "timeslice_quantum_ns", gpu->timeslice_quantum_ns);
        json_out_number(json, "timeslice_swap_ns", gpu->timeslice_swap_ns);
}

static void share_gpu_json(struct json_out *json, const struct snapshot *snapshot,
                           const struct share_gpu *gpu)
{
        json_out_open(json, NULL, '{');
        gpu_name_json(json, snapshot, gpu->uuid);
        limit_json(json, "total_bytes", gpu->total_bytes ? gpu->total_bytes : SHARE_UNLIMITED);
        limit_json(json, "limit_bytes", gpu->limit_bytes);
        limit_json(json, "physical_limit_bytes", gpu->physical_limit_bytes);
        limit_json(json, "virtual_limit_bytes", gpu->virtual_limit_bytes);
        json_out_number(json, "held_bytes", gpu->physical_bytes + gpu->virtual_bytes);
        json_out_number(json, "physical_bytes", gpu->physical_bytes);
        json_out_number(json, "virtual_bytes", gpu->virtual_bytes);
        json_out_number(json, "refusals", gpu->refusals);
        percent_json(json, "cores_percent", gpu->cores_percent);
        percent_json(json, "cores_max_percent", share_gpu_cap_percent(gpu));
        real_json(json, "cores_used_percent", gpu->cores_used_percent, gpu->is_used_known);
        json_out_real(json, "throttled_percent", gpu->throttled_percent);
        real_json(json, "cores_lost_percent", gpu->cores_lost_percent, gpu->is_lost_known);
        count_json(json, "gpu_ns", gpu->gpu_ns, share_gpu_is_measured(gpu));
        count_json(json, "cores_used_ns", gpu->cores_used_ns, true);
        json_out_number(json, "throttled_ns", gpu->throttled_ns);
        count_json(json, "cores_lost_ns", gpu->cores_lost_ns, true);
        timeslices_json(json, gpu);
        json_out_bool(json, "is_latency", gpu->is_latency);
        json_out_bool(json, "is_oversold", gpu->is_oversold);
        json_out_bool(json, "copies_count", gpu->copies_count);
        json_out_close(json, '}');
}

static void process_gpu_json(struct json_out *json, const struct snapshot *snapshot,
                             const struct share_view *share, const struct process_gpu *use)
{
        const struct share_gpu *gpu = vec_at(&share->gpus, use->gpu);
        const uint64_t held = process_gpu_held_bytes(use);

        if (!gpu)
                return;
        json_out_open(json, NULL, '{');
        gpu_name_json(json, snapshot, gpu->uuid);
        json_out_number(json, "held_bytes", held);
        json_out_number(json, "physical_bytes", held - use->virtual_bytes);
        json_out_number(json, "virtual_bytes", use->virtual_bytes);
        limit_json(json, "resident_bytes",
                   use->is_resident_told ? use->resident_bytes : SHARE_UNLIMITED);
        for (unsigned kind = 0; kind < REGION_KINDS; kind++)
                json_out_number(json, kind_names[kind], use->kinds[kind]);
        json_out_number(json, "gpu_ns", use->gpu_ns);
        json_out_close(json, '}');
}

static void process_json(struct json_out *json, const struct snapshot *snapshot,
                         const struct share_view *share, const struct share_process *process)
{
        json_out_open(json, NULL, '{');
        json_out_number(json, "pid", (uint64_t)process->pid);
        if (process->host_pid)
                json_out_number(json, "host_pid", (uint64_t)process->host_pid);
        else
                json_out_null(json, "host_pid");
        json_out_string(json, "program", process->program);
        json_out_open(json, "gpus", '[');
        for (size_t i = 0; i < process->gpus.count; i++)
                process_gpu_json(json, snapshot, share, vec_at(&process->gpus, i));
        json_out_close(json, ']');
        json_out_close(json, '}');
}

static void share_json(struct json_out *json, const struct snapshot *snapshot,
                       const struct share_view *share)
{
        json_out_open(json, NULL, '{');
        json_out_string(json, "name", share->name);
        text_json(json, "user", share->user);
        text_json(json, "program", share->program);
        text_json(json, "namespace", share->pod_namespace);
        text_json(json, "pod", share->pod);
        text_json(json, "container", share->container);
        text_json(json, "pod_uid", share->pod_uid);
        text_json(json, "id", share->container_id);
        text_json(json, "fault", share->fault);
        json_out_bool(json, "is_context_exempt", share->is_context_exempt);
        json_out_open(json, "gpus", '[');
        for (size_t i = 0; i < share->gpus.count; i++)
                share_gpu_json(json, snapshot, vec_at(&share->gpus, i));
        json_out_close(json, ']');
        json_out_open(json, "processes", '[');
        for (size_t i = 0; i < share->processes.count; i++)
                process_json(json, snapshot, share, vec_at(&share->processes, i));
        json_out_close(json, ']');
        json_out_close(json, '}');
}

static void stranger_json(struct json_out *json, const struct snapshot *snapshot,
                          const struct stranger *stranger)
{
        json_out_open(json, NULL, '{');
        gpu_name_json(json, snapshot, stranger->uuid);
        json_out_number(json, "pid", (uint64_t)stranger->pid);
        text_json(json, "user", stranger->user);
        text_json(json, "program", stranger->program);
        json_out_number(json, "used_bytes", stranger->used_bytes);
        json_out_bool(json, "is_other_user", stranger->is_other_user);
        json_out_close(json, '}');
}

static void time_json(struct json_out *json, uint64_t time_ns)
{
        const time_t seconds = (time_t)(time_ns / NS_PER_S);
        char day[32], text[48];
        struct tm parts;

        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &parts));
        snprintf(text, sizeof text, "%s.%03uZ", day, (unsigned)(time_ns % NS_PER_S / NS_PER_MS));
        json_out_string(json, "time", text);
        json_out_number(json, "time_ns", time_ns);
}

void snapshot_json(struct json_out *json, const struct snapshot *snapshot)
{
        json_out_open(json, NULL, '{');
        time_json(json, snapshot->time_ns);
        json_out_open(json, "gpus", '[');
        for (size_t i = 0; i < snapshot->gpus.count; i++)
                gpu_json(json, snapshot, vec_at(&snapshot->gpus, i));
        json_out_close(json, ']');
        json_out_open(json, "shares", '[');
        for (size_t i = 0; i < snapshot->shares.count; i++)
                share_json(json, snapshot, vec_at(&snapshot->shares, i));
        json_out_close(json, ']');
        json_out_open(json, "strangers", '[');
        for (size_t i = 0; i < snapshot->strangers.count; i++)
                stranger_json(json, snapshot, vec_at(&snapshot->strangers, i));
        json_out_close(json, ']');
        json_out_close(json, '}');
}
