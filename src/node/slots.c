/* The list of slots. */
#include "slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The message and all that it points to. */
struct slot_list {
        V1beta1__ListAndWatchResponse message;
        V1beta1__Device *devices;
        char (*ids)[SLOT_ID_BYTES];
};

bool slots_has(const struct slots *slots, const char *id)
{
        char again[SLOT_ID_BYTES];
        unsigned number;

        if (sscanf(id, "vgpu-%u", &number) != 1 || number >= slots->count)
                return false;
        snprintf(again, sizeof again, "vgpu-%u", number);
        return strcmp(id, again) == 0;
}

static void fill(struct slot_list *list, const struct slots *slots)
{
        for (unsigned i = 0; i < slots->count; i++) {
                V1beta1__Device *device = &list->devices[i];

                v1beta1__device__init(device);
                snprintf(list->ids[i], SLOT_ID_BYTES, "vgpu-%u", i);
                device->id = list->ids[i];
                device->health = (char *)(i < slots->healthy ? "Healthy" : "Unhealthy");
                list->message.devices[i] = device;
        }
        list->message.n_devices = slots->count;
}

V1beta1__ListAndWatchResponse *slots_list(const struct slots *slots)
{
        struct slot_list *list = calloc(1, sizeof *list);

        if (!list)
                return NULL;
        v1beta1__list_and_watch_response__init(&list->message);
        list->message.devices = calloc(slots->count + 1, sizeof *list->message.devices);
        list->devices = calloc(slots->count + 1, sizeof *list->devices);
        list->ids = calloc(slots->count + 1, sizeof *list->ids);
        if (!list->message.devices || !list->devices || !list->ids) {
                slots_list_free(&list->message);
                return NULL;
        }
        fill(list, slots);
        return &list->message;
}

void slots_list_free(V1beta1__ListAndWatchResponse *message)
{
        struct slot_list *list = (struct slot_list *)message; /* its first member */

        if (!list)
                return;
        free(list->message.devices);
        free(list->devices);
        free(list->ids);
        free(list);
}
