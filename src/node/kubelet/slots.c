/* SPDX-License-Identifier: Apache-2.0 */
/* The list of slots. */
#include "slots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

/* The message and all that it points to. */
struct slot_list {
        V1beta1__ListAndWatchResponse message;
        V1beta1__Device *devices;
        char *ids;                         /* one after the other */
        V1beta1__TopologyInfo *topologies; /* one per group, which its devices share */
        V1beta1__NUMANode *nodes, **node_pointers;
};

int slots_add(struct slots *slots, const char *name, unsigned count, unsigned healthy, int numa)
{
        struct slot_group *groups =
                reallocarray(slots->groups, slots->group_count + 1, sizeof *groups);

        if (!groups)
                return -ENOMEM;
        slots->groups = groups;
        groups[slots->group_count] =
                (struct slot_group){ .count = count, .healthy = healthy, .numa = numa };
        str_copy(groups[slots->group_count].name, sizeof groups->name, name);
        slots->group_count++;
        return 0;
}

int slots_copy(const struct slots *from, struct slots *ret_slots)
{
        struct slots copy = { .groups = calloc(from->group_count + 1, sizeof *copy.groups),
                              .group_count = from->group_count };

        if (!copy.groups)
                return -ENOMEM;
        for (unsigned i = 0; i < copy.group_count; i++)
                copy.groups[i] = from->groups[i];
        *ret_slots = copy;
        return 0;
}

void slots_done(struct slots *slots)
{
        free(slots->groups);
        *slots = (struct slots){ 0 };
}

static bool group_is_equal(const struct slot_group *a, const struct slot_group *b)
{
        return strcmp(a->name, b->name) == 0 && a->count == b->count && a->healthy == b->healthy &&
               a->numa == b->numa;
}

bool slots_is_equal(const struct slots *a, const struct slots *b)
{
        if (a->group_count != b->group_count)
                return false;
        for (unsigned i = 0; i < a->group_count; i++)
                if (!group_is_equal(&a->groups[i], &b->groups[i]))
                        return false;
        return true;
}

static unsigned group_slots(const struct slot_group *group)
{
        return group->count ? group->count : 1;
}

static void group_id(const struct slot_group *group, unsigned number, char ret_id[SLOT_ID_BYTES])
{
        if (group->count)
                snprintf(ret_id, SLOT_ID_BYTES, "%s%u", group->name, number);
        else
                str_copy(ret_id, SLOT_ID_BYTES, group->name);
}

static bool group_has(const struct slot_group *group, const char *id)
{
        const size_t length = strlen(group->name);
        char again[SLOT_ID_BYTES];
        unsigned number = 0;

        if (strncmp(id, group->name, length) != 0)
                return false;
        if (group->count && (sscanf(id + length, "%u", &number) != 1 || number >= group->count))
                return false;
        group_id(group, number, again); /* "1" is one of ours, "01" and "+1" are not */
        return strcmp(id, again) == 0;
}

unsigned slots_count(const struct slots *slots)
{
        unsigned count = 0;

        for (unsigned i = 0; i < slots->group_count; i++)
                count += group_slots(&slots->groups[i]);
        return count;
}

unsigned slots_healthy(const struct slots *slots)
{
        unsigned healthy = 0;

        for (unsigned i = 0; i < slots->group_count; i++)
                healthy += slots->groups[i].healthy;
        return healthy;
}

bool slots_has(const struct slots *slots, const char *id)
{
        for (unsigned i = 0; i < slots->group_count; i++)
                if (group_has(&slots->groups[i], id))
                        return true;
        return false;
}

/* NULL: none, for slots that are on no GPU in particular. */
static V1beta1__TopologyInfo *topology(struct slot_list *list, unsigned group, int numa)
{
        V1beta1__TopologyInfo *info = &list->topologies[group];

        if (numa < 0)
                return NULL;
        v1beta1__topology_info__init(info);
        v1beta1__numanode__init(&list->nodes[group]);
        list->nodes[group].id = numa;
        list->node_pointers[group] = &list->nodes[group];
        info->nodes = &list->node_pointers[group];
        info->n_nodes = 1;
        return info;
}

static void fill(struct slot_list *list, const struct slots *slots)
{
        char *id = list->ids;

        for (unsigned i = 0; i < slots->group_count; i++) {
                const struct slot_group *group = &slots->groups[i];
                V1beta1__TopologyInfo *numa = topology(list, i, group->numa);

                for (unsigned j = 0; j < group_slots(group); j++) {
                        const size_t at = list->message.n_devices++;
                        V1beta1__Device *device = &list->devices[at];

                        v1beta1__device__init(device);
                        group_id(group, j, id);
                        device->id = id;
                        id += strlen(id) + 1;
                        device->health = (char *)(j < group->healthy ? "Healthy" : "Unhealthy");
                        device->topology = numa;
                        list->message.devices[at] = device;
                }
        }
}

V1beta1__ListAndWatchResponse *slots_list(const struct slots *slots)
{
        const size_t count = slots_count(slots), groups = slots->group_count;
        struct slot_list *list = calloc(1, sizeof *list);
        size_t id_bytes = 1;

        if (!list)
                return NULL;
        for (size_t i = 0; i < groups; i++)
                id_bytes += group_slots(&slots->groups[i]) * (strlen(slots->groups[i].name) + 8);
        v1beta1__list_and_watch_response__init(&list->message);
        list->message.devices = calloc(count + 1, sizeof *list->message.devices);
        list->devices = calloc(count + 1, sizeof *list->devices);
        list->ids = malloc(id_bytes + SLOT_ID_BYTES);
        list->topologies = calloc(groups + 1, sizeof *list->topologies);
        list->nodes = calloc(groups + 1, sizeof *list->nodes);
        list->node_pointers = calloc(groups + 1, sizeof(V1beta1__NUMANode *));
        if (!list->message.devices || !list->devices || !list->ids || !list->topologies ||
            !list->nodes || !list->node_pointers) {
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
        free(list->topologies);
        free(list->nodes);
        free(list->node_pointers);
        free(list);
}
