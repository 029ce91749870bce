/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a share, its region and its time slices into a message. */
#include "share_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "guard.h"
#include "message.h"
#include "region_check.h"
#include "region_reader.h"
#include "region_view.h"
#include "share_folder.h"
#include "share_memory.h"

static bool text_put(char **to, const char *text)
{
        *to = strdup(text);
        return *to != NULL;
}

static void limits_put(Vgpu__V1__DeviceShare *message, const struct share_device *device)
{
        message->limit_bytes = device->limit_bytes;
        message->physical_limit_bytes = device->physical_bytes;
        message->virtual_limit_bytes =
                device->limit_bytes == SHARE_UNLIMITED
                        ? SHARE_UNLIMITED
                        : share_memory_whole(device) - device->physical_bytes;
        message->cores_percent = device->cores_percent;
        message->cores_max_percent = device->cores_max_percent;
        message->weight = device->weight;
        message->limit_max_bytes = device->limit_max_bytes;
        message->total_bytes = device->device_bytes;
        message->oversold_host_bytes = device->host_bytes;
        message->is_oversold = device->flags & SHARE_OVERSOLD;
        message->is_latency = device->flags & SHARE_LATENCY;
        message->copies_count = device->flags & SHARE_COPIES_COUNT;
}

/* The region's figures, as long as nothing was sampled. */
static void use_put(Vgpu__V1__DeviceShare *message, const struct region_reader *view,
                    unsigned index)
{
        struct reader_device device;

        if (region_reader_device(view, index, clock_now_ns(), &device) < 0)
                return;
        message->cores_used_percent = device.busy_ratio * 100;
        message->is_used_known =
                message->cores_percent || message->cores_max_percent || device.busy_ratio > 0;
        message->throttled_percent = device.throttled_ratio * 100;
        message->physical_bytes = device.physical_bytes;
        message->virtual_bytes = device.virtual_bytes;
        message->held_bytes = device.physical_bytes + device.virtual_bytes;
        message->gpu_ns = device.gpu_ns;
        message->throttled_ns = device.throttled_ns;
        message->refusals = device.refusals;
}

static void usage_put(Vgpu__V1__DeviceShare *message, const struct share_usage *usage)
{
        message->cores_used_percent = usage->used_percent;
        message->cores_lost_percent = usage->lost_percent;
        message->is_used_known = usage->is_used_known;
        message->is_lost_known = usage->is_lost_known;
        message->cores_used_ns = usage->used_ns;
        message->cores_lost_ns = usage->lost_ns;
}

static void timeslices_put(Vgpu__V1__DeviceShare *message, const struct gpu_grant *grant)
{
        message->timeslices = atomic_load(&grant->timeslices);
        message->timeslices_lapsed = atomic_load(&grant->lapses);
        message->timeslice_held_ns = atomic_load(&grant->held_ns);
        message->timeslice_waited_ns = atomic_load(&grant->waited_ns);
        message->timeslice_quantum_ns = atomic_load(&grant->quantum_ns);
        message->timeslice_swap_ns = atomic_load(&grant->swap_ns);
}

static bool devices_put(Vgpu__V1__Share *message, const struct shown_share *share,
                        struct node_usage *node, const struct region_reader *view,
                        const struct gpu_grant_file *grants)
{
        const struct share_copy *copy = share->copy;

        message->gpus = calloc(copy->device_count + 1, sizeof *message->gpus);
        for (unsigned i = 0; message->gpus && i < copy->device_count; i++) {
                Vgpu__V1__DeviceShare *device = malloc(sizeof *device);

                if (!device)
                        return false;
                vgpu__v1__device_share__init(device);
                message->gpus[message->n_gpus++] = device;
                device->index = i;
                limits_put(device, &copy->devices[i]);
                if (!text_put(&device->uuid, copy->devices[i].uuid))
                        return false;
                if (view)
                        use_put(device, view, i);
                const struct share_usage *usage = node_usage_share(node, share, i);
                if (usage)
                        usage_put(device, usage);
                if (grants && i < gpu_grant_count(grants))
                        timeslices_put(device, &grants->devices[i]);
        }
        return message->gpus != NULL;
}

static bool process_device_put(Vgpu__V1__Process *message, const struct region_reader *view,
                               uint32_t slot, unsigned index, const char *uuid)
{
        struct reader_use use;

        if (region_reader_use(view, slot, index, &use) < 0 ||
            (!use.physical_bytes && !use.virtual_bytes && !use.gpu_ns))
                return true;
        Vgpu__V1__ProcessDevice *device = malloc(sizeof *device);
        if (!device)
                return false;
        vgpu__v1__process_device__init(device);
        message->gpus[message->n_gpus++] = device;
        device->index = index;
        device->device_bytes = use.kinds[REGION_DEVICE];
        device->managed_bytes = use.kinds[REGION_MANAGED];
        device->context_bytes = use.kinds[REGION_CONTEXT];
        device->other_bytes = use.kinds[REGION_OTHER];
        device->physical_bytes = use.physical_bytes;
        device->virtual_bytes = use.virtual_bytes;
        device->held_bytes = use.physical_bytes + use.virtual_bytes;
        device->gpu_ns = use.gpu_ns;
        return text_put(&device->uuid, uuid);
}

static bool process_put(Vgpu__V1__Share *share, const struct region_reader *view, uint32_t slot,
                        const struct reader_process *process, unsigned device_count)
{
        Vgpu__V1__Process *message = malloc(sizeof *message);

        if (!message)
                return false;
        vgpu__v1__process__init(message);
        share->processes[share->n_processes++] = message;
        message->pid = process->pid;
        message->host_pid = process->host_pid;
        message->gpus = calloc(device_count + 1, sizeof *message->gpus);
        if (!message->gpus || !text_put(&message->program, process->name))
                return false;
        for (unsigned i = 0; i < device_count; i++)
                if (!process_device_put(message, view, slot, i, share->gpus[i]->uuid))
                        return false;
        return true;
}

/* Names are a tenant's: what is no text is not handed on as such. */
static void name_clean(char *text)
{
        for (; *text; text++)
                if (*text < ' ' || *text > '~')
                        *text = '?';
}

static bool processes_put(Vgpu__V1__Share *message, const struct region_reader *view,
                          unsigned device_count)
{
        struct reader_process process;

        message->processes = calloc(view->slots + 1, sizeof *message->processes);
        for (uint32_t i = 1; message->processes && i <= view->slots; i++) {
                if (region_reader_process(view, i, &process) != 1)
                        continue;
                name_clean(process.name);
                if (!process_put(message, view, i, &process, device_count))
                        return false;
        }
        message->process_count = (uint32_t)message->n_processes;
        return message->processes != NULL;
}

static bool container_put(Vgpu__V1__Share *message, const struct shown_share *share)
{
        Vgpu__V1__Container *container = malloc(sizeof *container);

        if (!container)
                return false;
        vgpu__v1__container__init(container);
        message->container = container;
        return text_put(&container->pod_uid, share->pod_uid) &&
               text_put(&container->namespace_, share->pod_namespace) &&
               text_put(&container->pod, share->pod) &&
               text_put(&container->container, share->container);
}

static bool fault_put(Vgpu__V1__Share *message, const char *path)
{
        struct region region;

        if (region_view_open(path, &region, NULL) < 0)
                return true;
        const enum region_fault fault =
                region_check_all(&region, clock_now_ns() + REGION_CHECK_MS * NS_PER_MS);
        region_view_close(&region);
        return fault == REGION_INTACT || text_put(&message->fault, region_fault_text(fault));
}

/* If the region cannot be read, the share has no figures; that is no error. */
static bool region_put(Vgpu__V1__Share *message, const struct shown_share *share,
                       struct node_usage *usage)
{
        struct gpu_grant_file *grants = NULL;
        struct region_reader view = { 0 };
        char path[SHARE_TEXT];

        /* A user's pages may be truncated while they are read. */
        guard_open_begin();
        share_folder_beside(share->path, "grant", path);
        gpu_grant_map(path, PROT_READ, &grants, NULL);
        share_folder_beside(share->path, "region", path);
        const bool is_open = region_reader_open(path, &view, NULL) == 0;
        view.is_of_host = shown_share_is_users(share);
        const bool is_put =
                devices_put(message, share, usage, is_open ? &view : NULL, grants) &&
                (!is_open || (processes_put(message, &view, share->copy->device_count) &&
                              fault_put(message, path)));

        region_reader_close(&view);
        gpu_grant_unmap(grants);
        guard_open_end();
        return is_put;
}

Vgpu__V1__Share *share_message_new(const struct shown_share *share, struct node_usage *usage)
{
        Vgpu__V1__Share *message = malloc(sizeof *message);

        if (!message)
                return NULL;
        vgpu__v1__share__init(message);
        message->generation = share->copy->generation;
        message->uid = share->uid;
        if (text_put(&message->name, share->name) && text_put(&message->user, share->user) &&
            text_put(&message->id, share->id) && container_put(message, share) &&
            region_put(message, share, usage))
                return message;
        share_message_free(message);
        return NULL;
}

void share_message_free(Vgpu__V1__Share *message)
{
        message_free((ProtobufCMessage *)message);
}
