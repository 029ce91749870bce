/* SPDX-License-Identifier: Apache-2.0 */
/* elf_object: dynamic section, symbols by hash. */
#include "elf_object.h"

#include <elf.h>
#include <stddef.h>
#include <sys/auxv.h>

bool elf_object_is_same(const char *one, const char *other)
{
        while (*one && *one == *other)
                one++, other++;
        return *one == *other;
}

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

/* False: it has no symbols. */
static bool tables_read(struct elf_object *object)
{
        size_t soname = 0;

        for (const ElfW(Dyn) *row = object->dynamic; row && row->d_tag != DT_NULL; row++)
                row_read(object, row, &soname);
        if (!object->symbols || !object->names || (!object->gnu_hash && !object->hash))
                return false;
        object->soname = soname ? object->names + soname : "";
        return true;
}

static const ElfW(Dyn) * segments_dynamic(const struct elf_object *object)
{
        for (unsigned i = 0; i < object->segment_count; i++)
                if (object->segments[i].p_type == PT_DYNAMIC)
                        return (const ElfW(Dyn) *)(object->base + object->segments[i].p_vaddr);
        return NULL;
}

bool elf_object_read(const struct dl_phdr_info *info, struct elf_object *ret_object)
{
        struct elf_object object = { .base = info->dlpi_addr,
                                     .segments = info->dlpi_phdr,
                                     .segment_count = info->dlpi_phnum };

        object.dynamic = segments_dynamic(&object);
        bool is_read = tables_read(&object);
        if (is_read)
                *ret_object = object;
        return is_read;
}

/* The loader's list, which it leaves for debuggers in the program's own dynamic section. */
static const struct link_map *list_first(void)
{
        struct elf_object program = { .segments = (const ElfW(Phdr) *)getauxval(AT_PHDR),
                                      .segment_count = (unsigned)getauxval(AT_PHNUM) };

        for (unsigned i = 0; program.segments && i < program.segment_count; i++)
                if (program.segments[i].p_type == PT_PHDR)
                        program.base = (ElfW(Addr))program.segments - program.segments[i].p_vaddr;
        const ElfW(Dyn) *row = program.segments ? segments_dynamic(&program) : NULL;
        for (; row && row->d_tag != DT_NULL; row++)
                if (row->d_tag == DT_DEBUG && row->d_un.d_ptr)
                        return ((const struct r_debug *)row->d_un.d_ptr)->r_map;
        return NULL;
}

bool elf_object_each(bool (*visit)(const struct elf_object *object, void *closure), void *closure)
{
        for (const struct link_map *map = list_first(); map; map = map->l_next) {
                struct elf_object object = { .base = map->l_addr, .dynamic = map->l_ld };
                if (tables_read(&object) && visit(&object, closure))
                        return true;
        }
        return false;
}

static bool is_named(const struct elf_object *object, uint32_t index, const char *name,
                     bool is_visible)
{
        const ElfW(Sym) *symbol = &object->symbols[index];

        return symbol->st_shndx != SHN_UNDEF &&
               !(is_visible && ELF64_ST_BIND(symbol->st_info) == STB_LOCAL) &&
               elf_object_is_same(object->names + symbol->st_name, name);
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
