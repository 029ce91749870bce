/* Reads the C library's dynamic symbols. dlsym(RTLD_NEXT) cannot be used to find dlsym itself, and
 * depends on who calls it. */
#include "libc_symbol.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

struct search {
        const char *name;
        void *found;
};

struct symbols {
        const ElfW(Sym) * table;
        const char *names;
        const uint32_t *hash; /* DT_GNU_HASH */
};

static const void *dynamic_address(const struct dl_phdr_info *object, ElfW(Addr) value)
{
        /* Some loaders leave addresses in the file's terms. */
        return (const void *)(value < object->dlpi_addr ? value + object->dlpi_addr : value);
}

static void symbols_read(const struct dl_phdr_info *object, const ElfW(Dyn) * dynamic,
                         struct symbols *ret)
{
        for (; dynamic->d_tag != DT_NULL; dynamic++) {
                const void *address = dynamic_address(object, dynamic->d_un.d_ptr);
                if (dynamic->d_tag == DT_SYMTAB)
                        ret->table = address;
                else if (dynamic->d_tag == DT_STRTAB)
                        ret->names = address;
                else if (dynamic->d_tag == DT_GNU_HASH)
                        ret->hash = address;
        }
}

static uint32_t gnu_hash(const char *name)
{
        uint32_t hash = 5381;

        for (; *name; name++)
                hash = hash * 33 + (unsigned char)*name;
        return hash;
}

/* Any version will do: the versions of these functions differ in name alone. */
static const ElfW(Sym) * symbols_find(const struct symbols *symbols, const char *name)
{
        uint32_t buckets = symbols->hash[0], first = symbols->hash[1], words = symbols->hash[2];
        const uint32_t *bucket = symbols->hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
        const uint32_t *chain = bucket + buckets;
        uint32_t wanted = gnu_hash(name);

        for (uint32_t i = bucket[wanted % buckets]; i >= first; i++) {
                const ElfW(Sym) *symbol = &symbols->table[i];
                if ((chain[i - first] | 1) == (wanted | 1) && symbol->st_shndx != SHN_UNDEF &&
                    strcmp(symbols->names + symbol->st_name, name) == 0)
                        return symbol;
                if (chain[i - first] & 1)
                        break;
        }
        return NULL;
}

static int object_visit(struct dl_phdr_info *object, size_t size, void *closure)
{
        struct search *search = closure;
        struct symbols symbols = { 0 };
        const char *base = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;

        (void)size;
        base = base ? base + 1 : object->dlpi_name;
        if (!base || (strcmp(base, "libc.so.6") != 0 && strcmp(base, "libdl.so.2") != 0))
                return 0;
        for (unsigned i = 0; i < object->dlpi_phnum; i++)
                if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
                        symbols_read(object,
                                     (const ElfW(Dyn) *)(object->dlpi_addr +
                                                         object->dlpi_phdr[i].p_vaddr),
                                     &symbols);
        if (!symbols.table || !symbols.names || !symbols.hash)
                return 0;
        const ElfW(Sym) *symbol = symbols_find(&symbols, search->name);
        if (symbol)
                search->found = (void *)(object->dlpi_addr + symbol->st_value);
        return symbol != NULL;
}

void *libc_symbol(const char *name)
{
        struct search search = { .name = name };

        dl_iterate_phdr(object_visit, &search);
        return search.found;
}
