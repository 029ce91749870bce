/* SPDX-License-Identifier: Apache-2.0 */
/* elf_object: a loaded object's own tables, read where they lie. No function is called that others define
 * too: sanitizers do so for most of the C library, and look up the rest through us before they can run. */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_object {
        ElfW(Addr) base;
        const ElfW(Phdr) * segments; /* NULL: not asked for */
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

/* Shows the loaded objects, without their segments, in the order of look-ups, until one is the right one.
 * False: none was, or there is no list. */
bool elf_object_each(bool (*visit)(const struct elf_object *object, void *closure), void *closure);

/* The same of one that dl_iterate_phdr() shows, with its segments. False: it has no symbols. */
bool elf_object_read(const struct dl_phdr_info *info, struct elf_object *ret_object);

/* A definition of the name, of whichever version. `is_visible`: one that look-ups see. NULL: none. */
bool elf_object_is_same(const char *one, const char *other);
ElfW(Sym) * elf_object_find(const struct elf_object *object, const char *name, bool is_visible);
