/* SPDX-License-Identifier: Apache-2.0 */
/* list: a ring of items that hold their own links. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
        struct list *next, *previous;
};

/* The structure that an embedded member belongs to. */
#define container_of(pointer, type, member) \
        ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define LIST_EMPTY(name)                             \
        {                                            \
                .next = &(name), .previous = &(name) \
        }

static inline void list_init(struct list *list)
{
        list->next = list->previous = list;
}

static inline bool list_is_empty(const struct list *list)
{
        return list->next == list;
}

static inline void list_append(struct list *list, struct list *item)
{
        item->previous = list->previous;
        item->next = list;
        list->previous->next = item;
        list->previous = item;
}

/* Leaves the item a ring of its own: removing it again does nothing. */
static inline void list_remove(struct list *item)
{
        item->next->previous = item->previous;
        item->previous->next = item->next;
        list_init(item);
}

/* The body may remove the item it is at. */
#define LIST_EACH(item, ring)                                                             \
        for (struct list *item = (ring)->next, *item##_next = item->next; item != (ring); \
             item = item##_next, item##_next = item->next)
