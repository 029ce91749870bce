/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the C library's dynamic symbols. dlsym(RTLD_NEXT) cannot be used to find dlsym itself, and
 * depends on who calls it. */
#include "libc_symbol.h"

#include <stddef.h>

#include "elf_object.h"

struct search {
        const char *name;
        void *found;
};

static bool object_visit(const struct elf_object *object, void *closure)
{
        struct search *search = closure;

        if (!libc_symbol_is_in(object->soname))
                return false;
        /* Any version will do: the versions of these functions differ in name alone. */
        const ElfW(Sym) *symbol = elf_object_find(object, search->name, false);
        if (symbol)
                search->found = (void *)(object->base + symbol->st_value);
        return symbol != NULL;
}

static int object_visit_listed(struct dl_phdr_info *info, size_t size, void *closure)
{
        struct elf_object object;

        (void)size;
        return elf_object_read(info, &object) && object_visit(&object, closure);
}

bool libc_symbol_is_in(const char *soname)
{
        return elf_object_is_same(soname, "libc.so.6") || elf_object_is_same(soname, "libdl.so.2");
}

void *libc_symbol(const char *name)
{
        struct search search = { .name = name };

        if (!elf_object_each(object_visit, &search))
                dl_iterate_phdr(object_visit_listed, &search);
        return search.found;
}
