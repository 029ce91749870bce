/* SPDX-License-Identifier: Apache-2.0 */
/* order: hide, then bind again. */
#include "order.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_object.h"
#include "libc_lookup.h"
#include "libc_symbol.h"

enum { RIVALS = 8 };

/* The objects in front of us that define what we define. Written once, before the program's own code. */
static struct {
        struct elf_object rivals[RIVALS];
        unsigned count;
        const struct index_row *lookups;
        unsigned lookup_count;
        atomic_bool is_checked;
} order;

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static bool is_driver(const char *soname)
{
        return elf_object_is_same(soname, "libcuda.so.1") ||
               elf_object_is_same(soname, "libnvidia-ml.so.1");
}

/* It ends with us. */
static bool rival_visit(const struct elf_object *object, void *closure)
{
        (void)closure;
        if (object->dynamic == _DYNAMIC)
                return true;
        if ((is_driver(object->soname) || libc_symbol_is_in(object->soname)) &&
            order.count < RIVALS)
                order.rivals[order.count++] = *object;
        return false;
}

static int rival_visit_listed(struct dl_phdr_info *info, size_t size, void *closure)
{
        struct elf_object object;

        (void)size;
        return elf_object_read(info, &object) && rival_visit(&object, closure);
}

static void rivals_find_all(void)
{
        if (elf_object_each(rival_visit, NULL))
                return;
        order.count = 0;
        dl_iterate_phdr(rival_visit_listed, NULL);
}

/* With its segments, now that they are needed. */
static int rival_complete(struct dl_phdr_info *info, size_t size, void *closure)
{
        struct elf_object object;

        (void)size, (void)closure;
        if (elf_object_read(info, &object))
                for (unsigned i = 0; i < order.count; i++)
                        if (order.rivals[i].dynamic == object.dynamic)
                                order.rivals[i] = object;
        return 0;
}

/* Makes [start, start + bytes) writable, or what it was. */
static bool pages_protect(uintptr_t start, size_t bytes, int protection)
{
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = start & ~(page - 1);

        return mprotect((void *)from, start + bytes - from, protection) == 0;
}

static int segment_protection(const ElfW(Phdr) * segment)
{
        return (segment->p_flags & PF_R ? PROT_READ : 0) |
               (segment->p_flags & PF_W ? PROT_WRITE : 0) |
               (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

static const ElfW(Phdr) *
        segment_of(const struct elf_object *object, uintptr_t address, ElfW(Word) type)
{
        for (unsigned i = 0; i < object->segment_count; i++) {
                const ElfW(Phdr) *segment = &object->segments[i];
                if (segment->p_type == type &&
                    address - object->base - segment->p_vaddr < segment->p_memsz)
                        return segment;
        }
        return NULL;
}

/* Look-ups pass over local symbols. */
static bool symbol_hide(const struct elf_object *object, ElfW(Sym) * symbol)
{
        const ElfW(Phdr) *segment = segment_of(object, (uintptr_t)symbol, PT_LOAD);

        if (!segment)
                return false;
        int protection = segment_protection(segment);
        if (!pages_protect((uintptr_t)symbol, sizeof *symbol, protection | PROT_WRITE))
                return false;
        symbol->st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol->st_info));
        return pages_protect((uintptr_t)symbol, sizeof *symbol, protection);
}

static const void *rivals_find(const char *name)
{
        for (unsigned i = 0; i < order.count; i++) {
                const ElfW(Sym) *symbol = elf_object_find(&order.rivals[i], name, false);
                if (symbol)
                        return (const void *)(order.rivals[i].base + symbol->st_value);
        }
        return NULL;
}

static bool name_hide(const char *name)
{
        bool is_hidden = true;
        ElfW(Sym) * symbol;

        for (unsigned i = 0; i < order.count; i++)
                while (is_hidden && (symbol = elf_object_find(&order.rivals[i], name, true)))
                        is_hidden = symbol_hide(&order.rivals[i], symbol);
        return is_hidden;
}

/* Is the slot on a page that the loader has made read-only? The last page of the part that is to be so
 * may hold other data and stays writable. */
static bool is_read_only(const struct elf_object *object, uintptr_t slot)
{
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        const ElfW(Phdr) *segment = segment_of(object, slot, PT_GNU_RELRO);

        return segment &&
               slot < ((object->base + segment->p_vaddr + segment->p_memsz) & ~(page - 1));
}

static bool slot_write(const struct elf_object *object, uintptr_t slot, void *value)
{
        bool is_fixed = is_read_only(object, slot);

        if (is_fixed && !pages_protect(slot, sizeof value, PROT_READ | PROT_WRITE))
                return false;
        memcpy((void *)slot, &value, sizeof value);
        return !is_fixed || pages_protect(slot, sizeof value, PROT_READ);
}

static void *shell_of(const char *name)
{
        const struct index_row *row = index_find(name);

        for (unsigned i = 0; !row && i < order.lookup_count; i++)
                if (strcmp(order.lookups[i].name, name) == 0)
                        row = &order.lookups[i];
        return row ? row->shell : NULL;
}

/* Binds one slot to us, if it is bound to one who stands before us. What is not bound yet will be, past
 * what is invisible now. */
static bool slot_rebind(const struct elf_object *object, const ElfW(Rela) * row)
{
        size_t symbol = ELF64_R_SYM(row->r_info);
        const char *name = object->names + object->symbols[symbol].st_name;
        void *shell = symbol ? shell_of(name) : NULL, *bound;
        uintptr_t slot = object->base + row->r_offset;

        if (!shell)
                return true;
        memcpy(&bound, (const void *)slot, sizeof bound);
        return !bound || bound != rivals_find(name) || slot_write(object, slot, shell);
}

static int object_rebind(struct dl_phdr_info *info, size_t size, void *closure)
{
        bool *is_bound = closure;
        struct elf_object object;

        (void)size;
        if (!elf_object_read(info, &object) || object.dynamic == _DYNAMIC)
                return 0;
        for (unsigned part = 0; part < 2; part++)
                for (size_t i = 0; i < object.relocations[part].count; i++)
                        *is_bound &= slot_rebind(&object, &object.relocations[part].rows[i]);
        return 0;
}

static bool rows_hide(const struct index_row *rows, unsigned count)
{
        bool is_hidden = true;

        for (unsigned i = 0; i < count; i++)
                if (rows[i].shell)
                        is_hidden &= name_hide(rows[i].name);
        return is_hidden;
}

/* Would a look-up that passes over the others find us? Not if we were loaded into a corner. */
static bool is_found(const struct index_row *self)
{
        void *program = libc_dlopen()(NULL, RTLD_LAZY);

        return program && libc_dlsym()(program, self->name) == self->shell;
}

bool order_check(const struct index_row *lookups, unsigned count, const struct index_row *self)
{
        if (atomic_exchange(&order.is_checked, true))
                return true;
        rivals_find_all();
        if (!order.count || !is_found(self)) {
                order.count = 0;
                return true;
        }
        dl_iterate_phdr(rival_complete, NULL);
        order.lookups = lookups;
        order.lookup_count = count;
        bool is_hidden = rows_hide(index_cuda, index_cuda_count);
        is_hidden &= rows_hide(index_nvml, index_nvml_count);
        is_hidden &= rows_hide(lookups, count);
        dl_iterate_phdr(object_rebind, &is_hidden);
        return is_hidden;
}

void *order_hidden(const char *name)
{
        return (void *)(uintptr_t)rivals_find(name);
}
