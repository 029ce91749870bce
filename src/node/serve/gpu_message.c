/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up what the messages of shares say of one GPU. */
#include "gpu_message.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

static void device_add(Vgpu__V1__Gpu *message, const Vgpu__V1__DeviceShare *device)
{
        message->cores_percent += device->cores_percent;
        message->throttled_ns += device->throttled_ns;
        if (device->throttled_percent > message->throttled_percent)
                message->throttled_percent = device->throttled_percent;
}

Vgpu__V1__Gpu *gpu_message_new(const struct device_usage *device, Vgpu__V1__Share *const *shares,
                               size_t count)
{
        Vgpu__V1__Gpu *message = malloc(sizeof *message);

        if (!message)
                return NULL;
        vgpu__v1__gpu__init(message);
        message->uuid = strdup(device->uuid);
        if (!message->uuid) {
                free(message);
                return NULL;
        }
        message->busy_percent = device->busy_percent;
        message->is_busy_told = device->is_busy_told;
        message->cores_used_percent = device->used_percent;
        message->outside_percent = device->outside_percent;
        message->is_split_told = device->is_split_told;
        message->cores_used_ns = device->used_ns;
        message->outside_ns = device->outside_ns;
        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < shares[i]->n_gpus; j++)
                        if (strcmp(shares[i]->gpus[j]->uuid, device->uuid) == 0)
                                device_add(message, shares[i]->gpus[j]);
        return message;
}

void gpu_message_free(Vgpu__V1__Gpu *message)
{
        message_free((ProtobufCMessage *)message);
}
