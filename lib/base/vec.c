/* SPDX-License-Identifier: Apache-2.0 */
/* vec: a growing array of equal items. */
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int vec_push(struct vec *vec, const void *item)
{
        if (vec->count == vec->capacity) {
                size_t capacity = vec->capacity ? vec->capacity * 2 : 8;
                void *items = reallocarray(vec->items, capacity, vec->item_bytes);
                if (!items)
                        return -ENOMEM;
                vec->items = items;
                vec->capacity = capacity;
        }

        void *to = (char *)vec->items + vec->count * vec->item_bytes;
        if (item)
                memcpy(to, item, vec->item_bytes);
        else
                memset(to, 0, vec->item_bytes);
        vec->count++;
        return 0;
}

void *vec_at(const struct vec *vec, size_t index)
{
        return index < vec->count ? (char *)vec->items + index * vec->item_bytes : NULL;
}

void vec_remove(struct vec *vec, size_t index)
{
        if (index >= vec->count)
                return;

        char *gap = (char *)vec->items + index * vec->item_bytes;
        memmove(gap, gap + vec->item_bytes, (vec->count - index - 1) * vec->item_bytes);
        vec->count--;
}

void vec_done(struct vec *vec)
{
        free(vec->items);
        *vec = (struct vec){ .item_bytes = vec->item_bytes };
}
