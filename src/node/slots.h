/* slots: what kubelet counts. A slot is a place for one vGPU on this node, on no card in particular:
 * the scheduler chose the card, and kubelet's choice of a slot must not contradict it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "deviceplugin.pb-c.h"

enum { SLOT_ID_BYTES = 16 };

struct slots {
        unsigned count;   /* ids are vgpu-0 … */
        unsigned healthy; /* the first so many; a sick card takes its number away from the end */
};

/* Is it an id of ours? */
bool slots_has(const struct slots *slots, const char *id);

/* The whole list, as kubelet wants it each time. Freed with slots_list_free(); NULL: out of memory. */
V1beta1__ListAndWatchResponse *slots_list(const struct slots *slots);
void slots_list_free(V1beta1__ListAndWatchResponse *list);
