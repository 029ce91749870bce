/* A share, its account and its turns, put into a message. */
#include "share_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "account_view.h"
#include "clock.h"
#include "message.h"
#include "region_check.h"
#include "region_view.h"
#include "share_folder.h"

static bool text_put(char **to, const char *text)
{
        *to = strdup(text);
        return *to != NULL;
}

static void limits_put(Vgpu__V1__DeviceShare *message, const struct share_device *device)
{
        message->memory_bytes = device->limit_bytes;
        message->physical_bytes = device->physical_bytes;
        message->cores_percent = device->cores_percent;
        message->cores_max_percent = device->cores_max_percent;
        message->weight = device->weight;
        message->memory_max_bytes = device->limit_max_bytes;
        message->card_bytes = device->card_bytes;
        message->host_bytes = device->host_bytes;
        message->oversold = device->flags & SHARE_OVERSOLD;
        message->latency = device->flags & SHARE_LATENCY;
}

static void use_put(Vgpu__V1__DeviceShare *message, const struct account_view *view, unsigned place)
{
        struct account_device device;

        if (account_view_device(view, place, clock_now_ns(), &device) < 0)
                return;
        message->used_bytes = device.physical_bytes;
        message->virtual_used_bytes = device.virtual_bytes;
        message->used_percent = (uint32_t)(device.busy_ratio * 100 + 0.5);
        message->gpu_ns = device.gpu_ns;
        message->throttled_ns = device.throttled_ns;
        message->refusals = device.refusals;
}

static bool devices_put(Vgpu__V1__Share *message, const struct share_copy *copy,
                        const struct account_view *view, const struct gpu_grant_file *grants)
{
        message->devices = calloc(copy->device_count + 1, sizeof *message->devices);
        for (unsigned i = 0; message->devices && i < copy->device_count; i++) {
                Vgpu__V1__DeviceShare *device = malloc(sizeof *device);

                if (!device)
                        return false;
                vgpu__v1__device_share__init(device);
                message->devices[message->n_devices++] = device;
                device->index = i;
                limits_put(device, &copy->devices[i]);
                if (!text_put(&device->uuid, copy->devices[i].uuid))
                        return false;
                if (view)
                        use_put(device, view, i);
                if (grants && i < grants->device_count) {
                        device->turns = atomic_load(&grants->devices[i].turns);
                        device->turn_waited_ns = atomic_load(&grants->devices[i].waited_ns);
                }
        }
        return message->devices != NULL;
}

static bool process_device_put(Vgpu__V1__Process *message, const struct account_view *view,
                               uint32_t slot, unsigned place)
{
        struct account_use use;

        if (account_view_use(view, slot, place, &use) < 0 ||
            (!use.physical_bytes && !use.virtual_bytes && !use.gpu_ns))
                return true;
        Vgpu__V1__ProcessDevice *device = malloc(sizeof *device);
        if (!device)
                return false;
        vgpu__v1__process_device__init(device);
        message->devices[message->n_devices++] = device;
        device->device = place;
        device->device_bytes = use.kinds[REGION_DEVICE];
        device->managed_bytes = use.kinds[REGION_MANAGED];
        device->context_bytes = use.kinds[REGION_CONTEXT];
        device->other_bytes = use.kinds[REGION_OTHER];
        device->virtual_bytes = use.virtual_bytes;
        device->gpu_ns = use.gpu_ns;
        return true;
}

static bool process_put(Vgpu__V1__Share *share, const struct account_view *view, uint32_t slot,
                        const struct account_process *process, unsigned device_count)
{
        Vgpu__V1__Process *message = malloc(sizeof *message);

        if (!message)
                return false;
        vgpu__v1__process__init(message);
        share->process_list[share->n_process_list++] = message;
        message->pid = process->pid;
        message->host_pid = process->host_pid;
        message->devices = calloc(device_count + 1, sizeof *message->devices);
        if (!message->devices || !text_put(&message->program, process->name))
                return false;
        for (unsigned i = 0; i < device_count; i++)
                if (!process_device_put(message, view, slot, i))
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

static bool processes_put(Vgpu__V1__Share *message, const struct account_view *view,
                          unsigned device_count)
{
        struct account_process process;

        message->process_list = calloc(view->slots + 1, sizeof *message->process_list);
        for (uint32_t i = 1; message->process_list && i <= view->slots; i++) {
                if (account_view_process(view, i, &process) != 1)
                        continue;
                name_clean(process.name);
                if (!process_put(message, view, i, &process, device_count))
                        return false;
        }
        message->processes = (uint32_t)message->n_process_list;
        return message->process_list != NULL;
}

static bool container_put(Vgpu__V1__Share *message, const struct held_share *held)
{
        Vgpu__V1__Container *container = malloc(sizeof *container);

        if (!container)
                return false;
        vgpu__v1__container__init(container);
        message->container = container;
        return text_put(&container->pod_uid, held->pod_uid) &&
               text_put(&container->namespace_, held->pod_namespace) &&
               text_put(&container->pod, held->pod) &&
               text_put(&container->container, held->container);
}

static bool fault_put(Vgpu__V1__Share *message, const char *path)
{
        struct region region;

        if (region_view_open(path, &region, NULL) < 0)
                return true;
        const enum region_fault fault =
                region_check_all(&region, clock_now_ns() + ACCOUNT_LOOK_MS * NS_PER_MS);
        region_view_close(&region);
        return fault == REGION_SOUND || text_put(&message->fault, region_fault_text(fault));
}

/* An account that cannot be read is a share without figures, not an error. */
static bool account_put(Vgpu__V1__Share *message, const struct held_share *held)
{
        const struct share_copy *copy = share_current(&held->share);
        struct gpu_grant_file *grants = NULL;
        struct account_view view = { 0 };
        char path[SHARE_TEXT];

        share_folder_beside(held->path, "grant", path);
        gpu_grant_map(path, PROT_READ, &grants, NULL);
        share_folder_beside(held->path, "region", path);
        const bool is_open = account_view_open(path, &view, NULL) == 0;
        const bool is_put = devices_put(message, copy, is_open ? &view : NULL, grants) &&
                            (!is_open || (processes_put(message, &view, copy->device_count) &&
                                          fault_put(message, path)));

        account_view_close(&view);
        gpu_grant_unmap(grants);
        return is_put;
}

Vgpu__V1__Share *share_message_new(const struct held_share *held)
{
        Vgpu__V1__Share *message = malloc(sizeof *message);

        if (!message)
                return NULL;
        vgpu__v1__share__init(message);
        message->generation = share_current(&held->share)->generation;
        if (text_put(&message->name, held->name) && container_put(message, held) &&
            account_put(message, held))
                return message;
        share_message_free(message);
        return NULL;
}

void share_message_free(Vgpu__V1__Share *message)
{
        message_free((ProtobufCMessage *)message);
}
