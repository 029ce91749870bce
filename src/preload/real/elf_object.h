/* elf_object: a loaded object's own tables, read where they lie: no look-up function is called. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_object {
        ElfW(Addr) base;
        const ElfW(Phdr) * segments;
        unsigned segment_count;
        const ElfW(Dyn) * dynamic;
        const char *soname; /* "": it has none */
        ElfW(Sym) * symbols;
        const char *names;
        const uint32_t *gnu_hash, *hash; /* NULL: not this one */
        struct {
                const ElfW(Rela) * rows;
                size_t count;
        } relocations[2]; /* data, and calls */
};

/* False: it has no symbols. */
bool elf_object_read(const struct dl_phdr_info *info, struct elf_object *ret_object);

/* A definition of the name, of whichever version. `is_visible`: one that look-ups see. NULL: none. */
ElfW(Sym) * elf_object_find(const struct elf_object *object, const char *name, bool is_visible);
