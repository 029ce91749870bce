/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF loader of the tenant's own: maps the driver, binds it to the C library that is there, and calls it. The
 * dynamic linker never hears of it. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evade.h"

#if defined(__x86_64__)
enum { SEGMENTS = 64, TAGS = 64 };

struct image {
        char *base;
        const ElfW(Sym) * symbols;
        const char *names;
        const char *tls;
        size_t tls_file_bytes, tls_bytes;
};

/* The driver's thread-local variables: a block per thread, at the offsets that its code passes. */
static struct image image;

static void *tls_address(const size_t *index)
{
        static _Thread_local char *block;

        if (!block) {
                block = calloc(1, image.tls_bytes + 64);
                memcpy(block, image.tls, image.tls_file_bytes);
        }
        return block + index[1];
}

static void *name_find(const ElfW(Sym) * symbol)
{
        const char *name = image.names + symbol->st_name;

        if (strcmp(name, "__tls_get_addr") == 0)
                return (void *)tls_address;
        if (symbol->st_shndx != SHN_UNDEF)
                return image.base + symbol->st_value;
        return dlsym(RTLD_DEFAULT, name);
}

static bool relocate(const ElfW(Rela) * rows, size_t bytes)
{
        for (size_t i = 0; i < bytes / sizeof *rows; i++) {
                const ElfW(Rela) *row = &rows[i];
                uint64_t *slot = (uint64_t *)(image.base + row->r_offset);
                const ElfW(Sym) *symbol = &image.symbols[ELF64_R_SYM(row->r_info)];

                switch (ELF64_R_TYPE(row->r_info)) {
                case R_X86_64_RELATIVE:
                        *slot = (uint64_t)(uintptr_t)image.base + (uint64_t)row->r_addend;
                        break;
                case R_X86_64_GLOB_DAT:
                case R_X86_64_JUMP_SLOT:
                        *slot = (uint64_t)(uintptr_t)name_find(symbol);
                        break;
                case R_X86_64_64:
                        *slot = (uint64_t)(uintptr_t)name_find(symbol) + (uint64_t)row->r_addend;
                        break;
                case R_X86_64_DTPMOD64:
                        *slot = 1;
                        break;
                case R_X86_64_DTPOFF64:
                        *slot = symbol->st_value + (uint64_t)row->r_addend;
                        break;
                default:
                        return false;
                }
        }
        return true;
}

static bool segments_map(int fd, const ElfW(Ehdr) * head, const ElfW(Phdr) * rows)
{
        size_t bytes = 0;

        for (unsigned i = 0; i < head->e_phnum; i++)
                if (rows[i].p_type == PT_LOAD && rows[i].p_vaddr + rows[i].p_memsz > bytes)
                        bytes = rows[i].p_vaddr + rows[i].p_memsz;
        image.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (image.base == MAP_FAILED)
                return false;
        for (unsigned i = 0; i < head->e_phnum; i++) {
                if (rows[i].p_type == PT_LOAD &&
                    pread(fd, image.base + rows[i].p_vaddr, rows[i].p_filesz,
                          (off_t)rows[i].p_offset) != (ssize_t)rows[i].p_filesz)
                        return false;
                if (rows[i].p_type == PT_TLS) {
                        image.tls = image.base + rows[i].p_vaddr;
                        image.tls_file_bytes = rows[i].p_filesz;
                        image.tls_bytes = rows[i].p_memsz;
                }
        }
        return true;
}

static const ElfW(Dyn) * dynamic_find(const ElfW(Ehdr) * head, const ElfW(Phdr) * rows)
{
        for (unsigned i = 0; i < head->e_phnum; i++)
                if (rows[i].p_type == PT_DYNAMIC)
                        return (const ElfW(Dyn) *)(image.base + rows[i].p_vaddr);
        return NULL;
}

static void needs_load(const ElfW(Dyn) * dynamic)
{
        for (const ElfW(Dyn) *row = dynamic; row->d_tag != DT_NULL; row++)
                if (row->d_tag == DT_NEEDED)
                        dlopen(image.names + row->d_un.d_val, RTLD_NOW | RTLD_GLOBAL);
}

static bool dynamic_apply(const ElfW(Dyn) * dynamic)
{
        typedef void init_fn(int, char **, char **);
        uint64_t values[TAGS] = { 0 };
        char *arguments[] = { NULL };

        for (const ElfW(Dyn) *row = dynamic; row->d_tag != DT_NULL; row++)
                if (row->d_tag > 0 && row->d_tag < TAGS)
                        values[row->d_tag] = row->d_un.d_val;
        image.symbols = (const ElfW(Sym) *)(image.base + values[DT_SYMTAB]);
        image.names = image.base + values[DT_STRTAB];
        needs_load(dynamic);
        if (!relocate((const ElfW(Rela) *)(image.base + values[DT_RELA]), values[DT_RELASZ]) ||
            !relocate((const ElfW(Rela) *)(image.base + values[DT_JMPREL]), values[DT_PLTRELSZ]))
                return false;
        init_fn *const *inits = (init_fn *const *)(image.base + values[DT_INIT_ARRAY]);
        for (size_t i = 0; i < values[DT_INIT_ARRAYSZ] / sizeof *inits; i++)
                inits[i](0, arguments, arguments);
        return true;
}

static void *image_find(const char *name)
{
        for (const ElfW(Sym) *at = image.symbols; (const char *)(at + 1) <= image.names; at++)
                if (at->st_shndx != SHN_UNDEF && strcmp(image.names + at->st_name, name) == 0)
                        return image.base + at->st_value;
        return NULL;
}

bool loader_open(struct driver_calls *calls)
{
        const int fd = open(driver_path(), O_RDONLY | O_CLOEXEC);
        static ElfW(Phdr) rows[SEGMENTS];
        ElfW(Ehdr) head;

        if (pread(fd, &head, sizeof head, 0) != sizeof head || head.e_phnum > SEGMENTS ||
            pread(fd, rows, head.e_phnum * sizeof *rows, (off_t)head.e_phoff) < 0 ||
            !segments_map(fd, &head, rows))
                return barred("the driver's file");
        const ElfW(Dyn) *dynamic = dynamic_find(&head, rows);
        if (!dynamic || !dynamic_apply(dynamic))
                return barred("its relocations");
        *(void **)&calls->init = image_find("cuInit");
        *(void **)&calls->context = image_find("cuCtxCreate_v2");
        *(void **)&calls->alloc = image_find("cuMemAlloc_v2");
        return calls->init && calls->context && calls->alloc ? true : barred("its symbols");
}
#else
bool loader_open(struct driver_calls *calls)
{
        (void)calls;
        return barred("written for one processor");
}
#endif
