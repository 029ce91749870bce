/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what an image is known to take, read in the program's own process: nothing outside of it may
 * be touched, and no figure be larger than any GPU. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "image_need.h"

const char *const fuzz_words[] = { ".version 7.0\n",
                                   ".visible .entry k(",
                                   ".global .align 4 .b8 table[",
                                   "];\n",
                                   ".extern ",
                                   ".attribute(.managed)",
                                   " = {1, 2};\n",
                                   "\x7f"
                                   "ELF\x02\x01\x01\x33",
                                   ".nv.global",
                                   NULL };

enum { HEADER = 16 };

/* As a fat binary whose size is the truth: its entries may lie. */
static uint64_t fat_need(const uint8_t *bytes, size_t count)
{
        const uint32_t magic = 0xba55ed50u;
        const uint16_t header = HEADER;
        const uint64_t size = count;
        uint8_t *image = malloc(HEADER + count);

        memcpy(image, &magic, sizeof magic);
        memset(image + 4, 0, 2);
        memcpy(image + 6, &header, sizeof header);
        memcpy(image + 8, &size, sizeof size);
        memcpy(image + HEADER, bytes, count);
        const uint64_t need = image_need(image);
        free(image);
        return need;
}

/* Every name has an end. */
static void name_visit(const char *name, void *user)
{
        *(size_t *)user += strlen(name);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = malloc(count + 1);
        size_t length = 0;
        const struct image_query query = { name_visit, &length };

        memcpy(text, bytes, count);
        text[count] = '\0';
        const uint64_t need = image_need_ptx(text, &query);
        free(text);
        if (need > UINT64_C(1) << 60 || fat_need(bytes, count) > UINT64_C(1) << 60)
                abort();
        if (count && image_need_elf(bytes, count, &query) > UINT64_C(1) << 60)
                abort();
}
