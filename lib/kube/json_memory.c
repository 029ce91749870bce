/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON library's memory, counted where it ends. */
#include "json_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static __thread uint64_t json_memory_refusals;

static void *allocate(size_t size)
{
        void *memory = malloc(size);

        json_memory_refusals += !memory;
        return memory;
}

/* Before anything is allocated: what the library frees must be what it allocated. */
__attribute__((constructor)) static void json_memory_count(void)
{
        json_set_alloc_funcs(allocate, free);
}

uint64_t json_memory_mark(void)
{
        return json_memory_refusals;
}

bool json_memory_is_whole(uint64_t mark)
{
        return mark == json_memory_refusals;
}

json_t *json_memory_load(const char *text, size_t count, size_t flags, int *ret_code,
                         json_error_t *ret_why)
{
        const uint64_t mark = json_memory_mark();
        json_t *value = json_loadb(text, count, flags, ret_why);

        if (json_memory_is_whole(mark)) {
                if (!value)
                        *ret_code = -EPROTO;
                return value;
        }
        json_decref(value);
        *ret_code = -ENOMEM;
        return NULL;
}

json_t *json_memory_load_text(const char *text, int *ret_code)
{
        return json_memory_load(text, strlen(text), 0, ret_code, NULL);
}

char *json_memory_dump(const json_t *value, size_t flags)
{
        const uint64_t mark = json_memory_mark();
        char *text = json_dumps(value, flags);

        if (json_memory_is_whole(mark))
                return text;
        free(text);
        return NULL;
}
