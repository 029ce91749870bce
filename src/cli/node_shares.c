/* The node's shares: asked for, and shown as the user's own are. */
#include "node_shares.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "node_client.h"
#include "quantity.h"
#include "str.h"
#include "usage.h"
#include "vgpu.pb-c.h"

/* NULL: none, and *ret_code is the exit code. */
static Vgpu__V1__ListSharesResponse *list_ask(int *ret_code)
{
        const Vgpu__V1__ListSharesRequest request = VGPU__V1__LIST_SHARES_REQUEST__INIT;
        struct grpc_reply reply = { 0 };
        struct err e = { 0 };

        *ret_code = EXIT_OK;
        if (!node_client_is_there())
                return NULL;
        if (node_client_ask("/vgpu.v1.Shares/List", &request.base,
                            &vgpu__v1__list_shares_response__descriptor, &reply, &e) < 0)
                *ret_code = complain(EXIT_FAILED, "%s", e.text);
        else if (reply.status != GRPC_OK)
                *ret_code = complain(EXIT_FAILED, "vgpu-node: %s", reply.text);
        return (Vgpu__V1__ListSharesResponse *)reply.message;
}

/* "team/train/main": whose it is. */
static void owner_text(const Vgpu__V1__Share *share, char *text, size_t size)
{
        const Vgpu__V1__Container *container = share->container;

        if (container && *container->pod)
                snprintf(text, size, "%s/%s/%s", container->namespace_, container->pod,
                         container->container);
        else
                snprintf(text, size, "%s", container ? container->container : "");
}

static unsigned cap_percent(const Vgpu__V1__DeviceShare *device)
{
        return device->cores_max_percent > device->cores_percent ? device->cores_max_percent
                                                                 : device->cores_percent;
}

static void size_add(struct table *table, uint64_t bytes)
{
        char text[QUANTITY_TEXT_BYTES] = "-";

        if (bytes != SHARE_UNLIMITED)
                quantity_format_bytes(bytes, text);
        table_add(table, "%s", text);
}

static void limits_add(struct table *table, const Vgpu__V1__DeviceShare *device)
{
        size_add(table, device->memory_bytes);
        if (cap_percent(device))
                table_add(table, "%u/%u%%", device->used_percent, cap_percent(device));
        else
                table_add(table, "-");
}

static uint64_t held_bytes(const Vgpu__V1__ProcessDevice *use)
{
        return use->device_bytes + use->managed_bytes + use->context_bytes + use->other_bytes +
               use->virtual_bytes;
}

static void process_row(struct table *table, const Vgpu__V1__Share *share,
                        const Vgpu__V1__Process *process, const Vgpu__V1__ProcessDevice *use)
{
        const uint64_t parts[] = { held_bytes(use),    use->device_bytes, use->managed_bytes,
                                   use->context_bytes, use->other_bytes,  use->virtual_bytes };

        if (use->device >= share->n_devices)
                return;
        table_add(table, "%s", share->name);
        table_add(table, "%u", process->host_pid ? process->host_pid : process->pid);
        table_add(table, "%.39s", process->program);
        table_add(table, "%u", use->device);
        for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
                size_add(table, parts[i]);
        table_add(table, "-");
        limits_add(table, share->devices[use->device]);
}

static void share_rows(struct table *table, const Vgpu__V1__Share *share)
{
        const Vgpu__V1__ProcessDevice nothing = VGPU__V1__PROCESS_DEVICE__INIT;

        for (size_t i = 0; i < share->n_process_list; i++) {
                const Vgpu__V1__Process *process = share->process_list[i];

                for (size_t j = 0; j < process->n_devices; j++)
                        process_row(table, share, process, process->devices[j]);
                if (process->n_devices == 0)
                        process_row(table, share, process, &nothing);
        }
        if (share->n_process_list || share->n_devices == 0)
                return;
        table_add(table, "%s", share->name);
        for (unsigned i = 0; i < 10; i++)
                table_add(table, "-");
        limits_add(table, share->devices[0]);
}

static void device_json(struct json_out *json, const Vgpu__V1__DeviceShare *device, unsigned gpu)
{
        json_open(json, NULL, '{');
        json_number(json, "gpu", gpu);
        json_string(json, "uuid", device->uuid);
        json_number(json, "limit_bytes", device->memory_bytes);
        json_number(json, "physical_limit_bytes", device->physical_bytes);
        json_number(json, "held_bytes", device->used_bytes + device->virtual_used_bytes);
        json_number(json, "physical_bytes", device->used_bytes);
        json_number(json, "virtual_bytes", device->virtual_used_bytes);
        json_number(json, "cores_percent", device->cores_percent);
        json_number(json, "cores_max_percent", cap_percent(device));
        json_bool(json, "is_latency", device->latency);
        json_real(json, "cores_used_ratio", device->used_percent / 100.0);
        json_number(json, "gpu_ns", device->gpu_ns);
        json_number(json, "throttled_ns", device->throttled_ns);
        json_open(json, "turns", '{');
        json_number(json, "count", device->turns);
        json_number(json, "waited_ns", device->turn_waited_ns);
        json_close(json, '}');
        json_close(json, '}');
}

static void process_json(struct json_out *json, const Vgpu__V1__Process *process)
{
        json_open(json, NULL, '{');
        json_number(json, "pid", process->pid);
        json_number(json, "host_pid", process->host_pid);
        json_string(json, "program", process->program);
        json_open(json, "gpus", '[');
        for (size_t i = 0; i < process->n_devices; i++) {
                const Vgpu__V1__ProcessDevice *use = process->devices[i];

                json_open(json, NULL, '{');
                json_number(json, "gpu", use->device);
                json_number(json, "held_bytes", held_bytes(use));
                json_number(json, "physical_bytes", held_bytes(use) - use->virtual_bytes);
                json_number(json, "virtual_bytes", use->virtual_bytes);
                json_number(json, "device_bytes", use->device_bytes);
                json_number(json, "managed_bytes", use->managed_bytes);
                json_number(json, "context_bytes", use->context_bytes);
                json_number(json, "other_bytes", use->other_bytes);
                json_number(json, "gpu_ns", use->gpu_ns);
                json_close(json, '}');
        }
        json_close(json, ']');
        json_close(json, '}');
}

static void share_json(struct json_out *json, const Vgpu__V1__Share *share)
{
        char owner[256];

        owner_text(share, owner, sizeof owner);
        json_open(json, NULL, '{');
        json_string(json, "name", share->name);
        json_string(json, "container", owner);
        if (share->container)
                json_string(json, "pod_uid", share->container->pod_uid);
        json_open(json, "gpus", '[');
        for (size_t i = 0; i < share->n_devices; i++)
                device_json(json, share->devices[i], (unsigned)i);
        json_close(json, ']');
        json_open(json, "processes", '[');
        for (size_t i = 0; i < share->n_process_list; i++)
                process_json(json, share->process_list[i]);
        json_close(json, ']');
        json_close(json, '}');
}

int node_shares_ps(struct table *table, struct json_out *json)
{
        int code;
        Vgpu__V1__ListSharesResponse *list = list_ask(&code);

        for (size_t i = 0; list && i < list->n_shares; i++) {
                const Vgpu__V1__Share *share = list->shares[i];

                if (json)
                        share_json(json, share);
                else
                        share_rows(table, share);
                if (*share->fault)
                        code = complain(EXIT_FAILED, "the account of '%s' %s", share->name,
                                        share->fault);
        }
        message_free((ProtobufCMessage *)list);
        return code;
}

static void usage_of(const Vgpu__V1__Share *share, unsigned device, struct usage *ret_usage)
{
        const Vgpu__V1__DeviceShare *from = share->devices[device];
        struct usage usage = { .gpu = device,
                               .processes = share->processes,
                               .held_bytes = from->used_bytes,
                               .host_bytes = from->virtual_used_bytes,
                               .limit_bytes = from->memory_bytes,
                               .card_bytes = from->card_bytes,
                               .busy_ns = from->gpu_ns,
                               .throttled_ns = from->throttled_ns,
                               .cores_percent = from->cores_percent,
                               .cores_max_percent = from->cores_max_percent };

        str_copy(usage.share, sizeof usage.share, share->name);
        str_copy(usage.uuid, sizeof usage.uuid, from->uuid);
        owner_text(share, usage.program, sizeof usage.program);
        *ret_usage = usage;
}

int node_shares_usage(struct vec *usages)
{
        int code;
        Vgpu__V1__ListSharesResponse *list = list_ask(&code);
        struct usage usage;

        for (size_t i = 0; list && i < list->n_shares; i++)
                for (unsigned j = 0; j < list->shares[i]->n_devices; j++) {
                        usage_of(list->shares[i], j, &usage);
                        vec_push(usages, &usage);
                }
        message_free((ProtobufCMessage *)list);
        return code;
}

static uint32_t answer_of(enum share_answer answer)
{
        return answer == SHARE_YES ? 1 : answer == SHARE_NO ? 2 : 0;
}

static void set_print(const Vgpu__V1__Share *share)
{
        for (size_t i = 0; i < share->n_devices; i++) {
                const Vgpu__V1__DeviceShare *device = share->devices[i];
                char held[QUANTITY_TEXT_BYTES], limit[QUANTITY_TEXT_BYTES] = "all there is";

                quantity_format_bytes(device->used_bytes + device->virtual_used_bytes, held);
                if (device->memory_bytes != SHARE_UNLIMITED)
                        quantity_format_bytes(device->memory_bytes, limit);
                printf("%s: GPU %zu holds %s of %s%s; time: ", share->name, i, held, limit,
                       device->used_bytes > device->memory_bytes
                               ? "; nothing is taken away, new memory is refused until it fits"
                               : "");
                if (cap_percent(device) > device->cores_percent && device->cores_percent)
                        printf("%u%% to %u%%\n", device->cores_percent, cap_percent(device));
                else if (cap_percent(device))
                        printf("%u%%\n", cap_percent(device));
                else
                        puts("no limit");
        }
}

int node_shares_set(const char *name, const struct share_memory *memory,
                    const struct share_compute *compute)
{
        Vgpu__V1__SetShareRequest request = VGPU__V1__SET_SHARE_REQUEST__INIT;
        Vgpu__V1__DeviceShare row = VGPU__V1__DEVICE_SHARE__INIT;
        Vgpu__V1__DeviceShare *rows[] = { &row };
        struct grpc_reply reply = { 0 };
        struct err e = { 0 };
        int code = EXIT_OK;

        if (!node_client_is_there())
                return -1;
        request.name = (char *)name;
        request.n_devices = 1;
        request.devices = rows;
        row.memory_bytes = memory->bytes;
        request.memory_ratio = memory->ratio;
        request.oversold = answer_of(memory->is_oversold);
        request.oversold_host_bytes = memory->host_bytes;
        request.has_cores = compute->has_cores;
        row.cores_percent = compute->cores_percent;
        request.has_cores_max = compute->has_most;
        row.cores_max_percent = compute->most_percent;
        request.latency = answer_of(compute->is_latency);
        request.copies_count = answer_of(compute->copies_count);
        if (node_client_ask("/vgpu.v1.Shares/Set", &request.base,
                            &vgpu__v1__set_share_response__descriptor, &reply, &e) < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        const Vgpu__V1__SetShareResponse *answer =
                (const Vgpu__V1__SetShareResponse *)reply.message;
        if (reply.status == GRPC_NOT_FOUND)
                code = -1;
        else if (reply.status != GRPC_OK)
                code = complain(EXIT_FAILED, "%s", reply.text);
        else if (answer && answer->share)
                set_print(answer->share);
        message_free(reply.message);
        return code;
}
