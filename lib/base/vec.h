/* SPDX-License-Identifier: Apache-2.0 */
/* vec: a growing array of equal items. */
#pragma once

#include <stddef.h>

struct vec {
        void *items;
        size_t item_bytes;
        size_t count;
        size_t capacity;
};

#define VEC_OF(type)                       \
        {                                  \
                .item_bytes = sizeof(type) \
        }

/* Copies the item to the end; NULL item adds a zeroed one. 0 or -ENOMEM. */
int vec_push(struct vec *vec, const void *item);

/* The item at index, or NULL past the end. Valid until the next push or remove. */
void *vec_at(const struct vec *vec, size_t index);

/* Closes the gap; order is kept. An index past the end is ignored. */
void vec_remove(struct vec *vec, size_t index);

void vec_done(struct vec *vec); /* keeps item_bytes: the vec can be filled again */
