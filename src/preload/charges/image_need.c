/* SPDX-License-Identifier: Apache-2.0 */
/* image_need: machine code and fat binaries. */
#include "image_need.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

enum {
        WRAPPER_MAGIC = 0x466243b1,
        ENTRY_BYTES = 64,
        KIND_PTX = 1,
        KIND_ELF = 2,
        FLAGS_PACKED = 0x2000 | 0x8000,
        VISIBILITY_BITS =
                3, /* of a symbol; the other bits are the GPU's own: managed, among them */
        HEADER_BYTES = 16,
};
#define HEADER_MAGIC 0xba55ed50u
#define IMAGE_MOST   (UINT64_C(1) << 32)

struct elf {
        const unsigned char *bytes;
        uint64_t length;
        Elf64_Ehdr header;
};

static bool is_inside(const struct elf *elf, uint64_t at, uint64_t size)
{
        return at <= elf->length && size <= elf->length - at;
}

static bool section_at(const struct elf *elf, unsigned index, Elf64_Shdr *ret_section)
{
        const uint64_t at = elf->header.e_shoff + (uint64_t)index * elf->header.e_shentsize;

        if (index >= elf->header.e_shnum || elf->header.e_shentsize < sizeof *ret_section ||
            !is_inside(elf, at, sizeof *ret_section))
                return false;
        memcpy(ret_section, elf->bytes + at, sizeof *ret_section);
        return true;
}

static bool section_is_named(const struct elf *elf, const Elf64_Shdr *section, const char *name)
{
        const uint64_t length = strlen(name) + 1;
        Elf64_Shdr names;

        return section_at(elf, elf->header.e_shstrndx, &names) &&
               is_inside(elf, names.sh_offset, names.sh_size) && section->sh_name < names.sh_size &&
               length <= names.sh_size - section->sh_name &&
               memcmp(elf->bytes + names.sh_offset + section->sh_name, name, length) == 0;
}

/* A NUL-terminated text in a section of texts; NULL: there is none. */
static const char *text_at(const struct elf *elf, const Elf64_Shdr *texts, uint64_t at)
{
        if (texts->sh_type == SHT_NOBITS || !is_inside(elf, texts->sh_offset, texts->sh_size) ||
            at >= texts->sh_size)
                return NULL;
        const char *text = (const char *)elf->bytes + texts->sh_offset + at;
        return memchr(text, '\0', texts->sh_size - at) ? text : NULL;
}

/* Does it have variables of another kind than plain ones? They may be managed, which lie elsewhere. */
static bool symbols_are_odd(const struct elf *elf, const Elf64_Shdr *table,
                            const struct image_query *query)
{
        Elf64_Shdr texts;
        Elf64_Sym symbol;
        bool is_odd = false;

        if (table->sh_type != SHT_SYMTAB || !is_inside(elf, table->sh_offset, table->sh_size) ||
            !section_at(elf, table->sh_link, &texts))
                return false;
        for (uint64_t i = 0; i < table->sh_size / sizeof symbol; i++) {
                memcpy(&symbol, elf->bytes + table->sh_offset + i * sizeof symbol, sizeof symbol);
                if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT ||
                    !(symbol.st_other & ~VISIBILITY_BITS))
                        continue;
                is_odd = true;
                const char *name = text_at(elf, &texts, symbol.st_name);
                if (query && name)
                        query->visit(name, query->user);
        }
        return is_odd;
}

static uint64_t headers_length(const Elf64_Ehdr *header)
{
        const uint64_t sections = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;

        return header->e_shoff < IMAGE_MOST ? sections : 0;
}

uint64_t image_need_elf(const void *image, uint64_t length, const struct image_query *query)
{
        struct elf elf = { .bytes = image, .length = length };
        Elf64_Shdr section;
        uint64_t sum = 0;
        bool is_odd = false;

        if (length && length < sizeof elf.header)
                return 0;
        memcpy(&elf.header, image, sizeof elf.header);
        if (memcmp(elf.header.e_ident, ELFMAG, SELFMAG) != 0 ||
            elf.header.e_ident[EI_CLASS] != ELFCLASS64)
                return 0;
        if (!length)
                elf.length = headers_length(&elf.header);
        for (unsigned i = 0; section_at(&elf, i, &section); i++) {
                is_odd |= symbols_are_odd(&elf, &section, query);
                if (section.sh_size < IMAGE_NEED_MOST &&
                    (section_is_named(&elf, &section, ".nv.global") ||
                     section_is_named(&elf, &section, ".nv.global.init")))
                        sum += section.sh_size;
        }
        return is_odd ? 0 : sum;
}

struct entry {
        uint16_t kind;
        uint32_t header;
        uint64_t payload, flags;
        const unsigned char *bytes;
};

static bool entry_at(const unsigned char *at, const unsigned char *end, struct entry *ret_entry)
{
        if (end - at < ENTRY_BYTES)
                return false;
        memcpy(&ret_entry->kind, at, sizeof ret_entry->kind);
        memcpy(&ret_entry->header, at + 4, sizeof ret_entry->header);
        memcpy(&ret_entry->payload, at + 8, sizeof ret_entry->payload);
        memcpy(&ret_entry->flags, at + 40, sizeof ret_entry->flags);
        ret_entry->bytes = at + ret_entry->header;
        return ret_entry->header >= ENTRY_BYTES && ret_entry->header <= (uint64_t)(end - at) &&
               ret_entry->payload <= (uint64_t)(end - at) - ret_entry->header;
}

static uint64_t entry_need(const struct entry *entry, const struct image_query *query)
{
        if (entry->flags & FLAGS_PACKED)
                return 0;
        if (entry->kind == KIND_ELF)
                return entry->payload ? image_need_elf(entry->bytes, entry->payload, query) : 0;
        /* Text that does not end within its entry is not read. */
        if (entry->kind == KIND_PTX && memchr(entry->bytes, '\0', entry->payload))
                return image_need_ptx((const char *)entry->bytes, query);
        return 0;
}

/* The least of all entries: the driver takes one of them. */
static uint64_t fat_need(const unsigned char *image, const struct image_query *query)
{
        uint64_t size, least = UINT64_MAX;
        uint16_t header;
        struct entry entry;

        memcpy(&header, image + 6, sizeof header);
        memcpy(&size, image + 8, sizeof size);
        if (header < HEADER_BYTES || size > IMAGE_MOST)
                return 0;
        const unsigned char *const end = image + header + size;
        for (const unsigned char *at = image + header; entry_at(at, end, &entry);
             at = entry.bytes + entry.payload) {
                const uint64_t need = entry_need(&entry, query);

                least = need < least ? need : least;
        }
        return least == UINT64_MAX ? 0 : least;
}

static uint64_t image_read(const void *image, const struct image_query *query)
{
        uint32_t magic;

        if (!image)
                return 0;
        memcpy(&magic, image, sizeof magic);
        if (magic == WRAPPER_MAGIC) {
                memcpy(&image, (const char *)image + 8, sizeof image);
                if (!image)
                        return 0;
                memcpy(&magic, image, sizeof magic);
        }
        if (magic == HEADER_MAGIC)
                return fat_need(image, query);
        if (memcmp(&magic, ELFMAG, SELFMAG) == 0)
                return image_need_elf(image, 0, query);
        return image_need_ptx(image, query);
}

uint64_t image_need(const void *image)
{
        return image_read(image, NULL);
}

void image_managed(const void *image, image_name_fn *visit, void *user)
{
        image_read(image, &(struct image_query){ visit, user });
}
