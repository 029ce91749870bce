/* elf_object: dynamic section, symbols by hash. */
#include "elf_object.h"

#include <elf.h>
#include <string.h>

static const void *address_of(const struct elf_object *object, ElfW(Addr) value)
{
        /* Some loaders leave addresses in the file's terms. */
        return (const void *)(value < object->base ? value + object->base : value);
}

static void row_read(struct elf_object *object, const ElfW(Dyn) * row, size_t *soname)
{
        const void *address = address_of(object, row->d_un.d_ptr);

        switch (row->d_tag) {
        case DT_SYMTAB:
                object->symbols = (ElfW(Sym) *)(uintptr_t)address;
                break;
        case DT_STRTAB:
                object->names = address;
                break;
        case DT_GNU_HASH:
                object->gnu_hash = address;
                break;
        case DT_HASH:
                object->hash = address;
                break;
        case DT_SONAME:
                *soname = row->d_un.d_val;
                break;
        case DT_RELA:
                object->relocations[0].rows = address;
                break;
        case DT_RELASZ:
                object->relocations[0].count = row->d_un.d_val / sizeof(ElfW(Rela));
                break;
        case DT_JMPREL:
                object->relocations[1].rows = address;
                break;
        case DT_PLTRELSZ:
                object->relocations[1].count = row->d_un.d_val / sizeof(ElfW(Rela));
                break;
        default:
                break;
        }
}

bool elf_object_read(const struct dl_phdr_info *info, struct elf_object *ret_object)
{
        struct elf_object object = { .base = info->dlpi_addr,
                                     .segments = info->dlpi_phdr,
                                     .segment_count = info->dlpi_phnum };
        size_t soname = 0;

        for (unsigned i = 0; i < object.segment_count; i++)
                if (object.segments[i].p_type == PT_DYNAMIC)
                        object.dynamic =
                                (const ElfW(Dyn) *)(object.base + object.segments[i].p_vaddr);
        for (const ElfW(Dyn) *row = object.dynamic; row && row->d_tag != DT_NULL; row++)
                row_read(&object, row, &soname);
        if (!object.symbols || !object.names || (!object.gnu_hash && !object.hash))
                return false;
        object.soname = soname ? object.names + soname : "";
        *ret_object = object;
        return true;
}

static bool is_named(const struct elf_object *object, uint32_t index, const char *name,
                     bool is_visible)
{
        const ElfW(Sym) *symbol = &object->symbols[index];

        return symbol->st_shndx != SHN_UNDEF &&
               !(is_visible && ELF64_ST_BIND(symbol->st_info) == STB_LOCAL) &&
               strcmp(object->names + symbol->st_name, name) == 0;
}

static ElfW(Sym) *
        find_by_gnu_hash(const struct elf_object *object, const char *name, bool is_visible)
{
        const uint32_t *hash = object->gnu_hash;
        uint32_t buckets = hash[0], first = hash[1], words = hash[2], wanted = 5381;
        const uint32_t *bucket = hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
        const uint32_t *chain = bucket + buckets;

        for (const char *c = name; *c; c++)
                wanted = wanted * 33 + (unsigned char)*c;
        for (uint32_t i = buckets ? bucket[wanted % buckets] : 0; i && i >= first; i++) {
                if ((chain[i - first] | 1) == (wanted | 1) && is_named(object, i, name, is_visible))
                        return &object->symbols[i];
                if (chain[i - first] & 1)
                        break;
        }
        return NULL;
}

static ElfW(Sym) * find_by_hash(const struct elf_object *object, const char *name, bool is_visible)
{
        uint32_t buckets = object->hash[0], wanted = 0;
        const uint32_t *bucket = object->hash + 2, *chain = bucket + buckets;

        for (const char *c = name; *c; c++) {
                wanted = (wanted << 4) + (unsigned char)*c;
                wanted = (wanted ^ (wanted >> 28 << 4)) & 0x0fffffff;
        }
        for (uint32_t i = buckets ? bucket[wanted % buckets] : 0; i; i = chain[i])
                if (is_named(object, i, name, is_visible))
                        return &object->symbols[i];
        return NULL;
}

ElfW(Sym) * elf_object_find(const struct elf_object *object, const char *name, bool is_visible)
{
        return object->gnu_hash ? find_by_gnu_hash(object, name, is_visible)
                                : find_by_hash(object, name, is_visible);
}
