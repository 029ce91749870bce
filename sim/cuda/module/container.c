/* SPDX-License-Identifier: Apache-2.0 */
/* The container of linked inputs: a header, a row per part, the parts. */
#include "container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CONTAINER_VERSION = 1, PARTS_MAX = 4096, PART_ALIGN = 8 };

/* Starts with a byte that no text has: a container is never taken for PTX. */
static const char container_magic[8] = { '\x7f', 'V', 'G', 'P', 'U', 'L', 'N', 'K' };

struct header {
        char magic[8];
        uint32_t version;
        uint32_t count;
        uint64_t bytes; /* of the whole */
};

struct row {
        uint64_t offset, length;
        uint64_t is_ptx;
};

static size_t round_up(size_t bytes)
{
        return (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

/* Images come without alignment. */
static struct header header_of(const void *image)
{
        struct header header;

        memcpy(&header, image, sizeof header);
        return header;
}

static struct row row_of(const void *image, unsigned index)
{
        struct row row;

        memcpy(&row, (const char *)image + sizeof(struct header) + index * sizeof row, sizeof row);
        return row;
}

int container_write(const struct container_part *parts, size_t count, void **ret_image,
                    size_t *ret_bytes)
{
        size_t offset = sizeof(struct header) + count * sizeof(struct row), bytes = offset;
        char *image;

        for (size_t i = 0; i < count; i++)
                bytes += round_up(parts[i].length);
        image = calloc(1, bytes);
        if (!image)
                return -ENOMEM;

        struct header header = { .version = CONTAINER_VERSION,
                                 .count = (uint32_t)count,
                                 .bytes = bytes };

        memcpy(header.magic, container_magic, sizeof header.magic);
        memcpy(image, &header, sizeof header);
        for (size_t i = 0; i < count; i++) {
                struct row row = { offset, parts[i].length, parts[i].is_ptx };

                memcpy(image + sizeof header + i * sizeof row, &row, sizeof row);
                memcpy(image + offset, parts[i].bytes, parts[i].length);
                offset += round_up(parts[i].length);
        }
        *ret_image = image;
        *ret_bytes = bytes;
        return 0;
}

bool container_is(const void *image, size_t bytes)
{
        if (bytes > 0 && bytes < sizeof(struct header))
                return false;
        return memcmp(image, container_magic, sizeof container_magic) == 0;
}

int container_count(const void *image, size_t bytes)
{
        struct header header = header_of(image);
        size_t start = sizeof header + (size_t)header.count * sizeof(struct row);

        if (header.version != CONTAINER_VERSION || header.count > PARTS_MAX ||
            header.bytes < start || (bytes > 0 && header.bytes > bytes))
                return -EINVAL;
        for (unsigned i = 0; i < header.count; i++) {
                struct row row = row_of(image, i);

                if (row.offset < start || row.offset > header.bytes ||
                    row.length > header.bytes - row.offset)
                        return -EINVAL;
        }
        return (int)header.count;
}

void container_part(const void *image, unsigned index, struct container_part *ret_part)
{
        struct row row = row_of(image, index);

        *ret_part = (struct container_part){
                .is_ptx = row.is_ptx != 0,
                .bytes = (const char *)image + row.offset,
                .length = (size_t)row.length,
        };
}
