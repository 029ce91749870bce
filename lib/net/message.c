/* SPDX-License-Identifier: Apache-2.0 */
/* protobuf-c with a budget. */
#include "message.h"

#include <errno.h>
#include <stdlib.h>

enum {
        SMALL_GROWTH = 128,
        LARGE_GROWTH = 8,
        LARGE_BYTES = 16 << 20,
        LITTLE_BYTES = 4096, /* an empty message is a structure too */
};

/* What reading so many bytes may take. */
static size_t budget_of(size_t count)
{
        const size_t small = count * SMALL_GROWTH + LITTLE_BYTES;
        const size_t large = count * LARGE_GROWTH + LARGE_BYTES;

        return small < large ? small : large;
}

static void *budget_alloc(void *budget, size_t size)
{
        size_t *left = budget;

        if (size > *left)
                return NULL;
        *left -= size;
        return malloc(size);
}

static void budget_free(void *budget, void *pointer)
{
        (void)budget;
        free(pointer);
}

ProtobufCMessage *message_unpack(const ProtobufCMessageDescriptor *type, const void *bytes,
                                 size_t count)
{
        size_t left = budget_of(count);
        ProtobufCAllocator allocator = { budget_alloc, budget_free, &left };

        return protobuf_c_message_unpack(type, &allocator, count, bytes);
}

void message_free(ProtobufCMessage *message)
{
        if (message)
                protobuf_c_message_free_unpacked(message, NULL);
}

int message_pack(const ProtobufCMessage *message, struct str *to)
{
        const size_t count = protobuf_c_message_get_packed_size(message);
        const size_t before = to->length;
        void *bytes = malloc(count ? count : 1);
        int r;

        if (!bytes)
                return -ENOMEM;
        protobuf_c_message_pack(message, bytes);
        r = str_append_bytes(to, bytes, count);
        if (r < 0)
                to->length = before;
        free(bytes);
        return r;
}
