/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code (ELF): kernels are its .text.NAME sections, .nv.info says what they need. */
#include "fatbin_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EM_CUDA_MACHINE 190
#define INFO_LIMIT      4096u /* parameters of a kernel */

/* Records of .nv.info. */
enum { FORMAT_NONE = 1, FORMAT_BYTE = 2, FORMAT_HALF = 3, FORMAT_SIZED = 4 };
enum {
        INFO_MAX_THREADS = 0x05,
        INFO_FRAME_SIZE = 0x11,
        INFO_KPARAM = 0x17,
        INFO_PARAM_SIZE = 0x19,
        INFO_REQUIRED_THREADS = 0x10,
        INFO_REGISTERS = 0x2f
};

struct image {
        const unsigned char *bytes;
        uint64_t length;
        Elf64_Ehdr header;
};

struct section {
        Elf64_Shdr header;
        const char *name; /* "" when it has none */
};

bool fatbin_elf_is(const void *image, size_t length)
{
        return (length == 0 || length >= sizeof(Elf64_Ehdr)) &&
               memcmp(image, ELFMAG, SELFMAG) == 0 &&
               ((const unsigned char *)image)[EI_CLASS] == ELFCLASS64;
}

uint64_t fatbin_elf_length(const void *image)
{
        Elf64_Ehdr h;
        uint64_t sections, programs;

        memcpy(&h, image, sizeof h);
        sections = h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize;
        programs = h.e_phoff + (uint64_t)h.e_phnum * h.e_phentsize;
        if (h.e_shoff > UINT32_MAX || h.e_phoff > UINT32_MAX)
                return 0;
        return sections > programs ? sections : programs;
}

static bool is_inside(const struct image *image, uint64_t at, uint64_t size)
{
        return at <= image->length && size <= image->length - at;
}

/* A NUL-terminated text inside a section, or "". */
static const char *text_at(const struct image *image, const Elf64_Shdr *strings, uint64_t at)
{
        const char *text;

        if (strings->sh_type == SHT_NOBITS ||
            !is_inside(image, strings->sh_offset, strings->sh_size) || at >= strings->sh_size)
                return "";
        text = (const char *)image->bytes + strings->sh_offset + at;
        return memchr(text, 0, strings->sh_size - at) ? text : "";
}

static bool header_at(const struct image *image, unsigned index, Elf64_Shdr *ret)
{
        uint64_t at = image->header.e_shoff + (uint64_t)index * image->header.e_shentsize;

        if (index >= image->header.e_shnum || image->header.e_shentsize < sizeof *ret ||
            !is_inside(image, at, sizeof *ret))
                return false;
        memcpy(ret, image->bytes + at, sizeof *ret);
        return true;
}

static bool section_at(const struct image *image, unsigned index, struct section *ret)
{
        Elf64_Shdr names;

        if (!header_at(image, index, &ret->header))
                return false;
        ret->name = header_at(image, image->header.e_shstrndx, &names)
                            ? text_at(image, &names, ret->header.sh_name)
                            : "";
        return true;
}

static const char *after(const char *name, const char *prefix)
{
        size_t length = strlen(prefix);

        return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

static struct fatbin_kernel *kernel_find(struct fatbin *fatbin, const char *name)
{
        for (size_t n = 0; n < fatbin->kernel_count; n++)
                if (strcmp(fatbin->kernels[n].name, name) == 0)
                        return &fatbin->kernels[n];
        return NULL;
}

static int kernel_add(struct fatbin *fatbin, const char *name, uint32_t registers)
{
        struct fatbin_kernel *moved;

        if (kernel_find(fatbin, name))
                return 0;
        moved = realloc(fatbin->kernels, (fatbin->kernel_count + 1) * sizeof *moved);
        if (!moved)
                return -ENOMEM;
        fatbin->kernels = moved;
        moved[fatbin->kernel_count] =
                (struct fatbin_kernel){ .name = strdup(name), .registers = registers };
        if (!moved[fatbin->kernel_count].name)
                return -ENOMEM;
        fatbin->kernel_count++;
        return 0;
}

/* index, ordinal, offset, and the size in the upper fourteen bits of the last word */
static int param_note(struct fatbin_kernel *kernel, const unsigned char *at)
{
        uint16_t ordinal, offset;
        uint32_t packed;
        struct fatbin_param *moved;

        memcpy(&ordinal, at + 4, 2);
        memcpy(&offset, at + 6, 2);
        memcpy(&packed, at + 8, 4);
        if (ordinal >= INFO_LIMIT)
                return -EINVAL;
        if (ordinal >= kernel->param_count) {
                moved = realloc(kernel->params, (ordinal + 1u) * sizeof *moved);
                if (!moved)
                        return -ENOMEM;
                memset(moved + kernel->param_count, 0,
                       (ordinal + 1u - kernel->param_count) * sizeof *moved);
                kernel->params = moved;
                kernel->param_count = ordinal + 1u;
        }
        kernel->params[ordinal] = (struct fatbin_param){ offset, packed >> 18 };
        return 0;
}

static int kernel_record(struct fatbin_kernel *kernel, unsigned attribute, unsigned size,
                         const unsigned char *value)
{
        uint32_t dims[3];

        if (attribute == INFO_KPARAM && size >= 12)
                return param_note(kernel, value);
        if ((attribute == INFO_MAX_THREADS || attribute == INFO_REQUIRED_THREADS) && size >= 12) {
                memcpy(dims, value, sizeof dims);
                if (dims[0] <= 1024 && dims[1] <= 1024 && dims[2] <= 1024)
                        kernel->max_threads = dims[0] * dims[1] * dims[2];
        }
        return 0;
}

struct record {
        unsigned attribute, size, half;
        const unsigned char *value;
};

/* The next record of .nv.info; false at the end or where it is damaged. */
static bool record_next(const unsigned char **at, const unsigned char *end, struct record *ret)
{
        uint16_t half;
        unsigned format;

        if (end - *at < 4)
                return false;
        format = (*at)[0];
        memcpy(&half, *at + 2, 2);
        *ret = (struct record){ .attribute = (*at)[1], .half = half, .value = *at + 4 };
        *at += 4;
        if (format != FORMAT_SIZED)
                return format >= FORMAT_NONE && format <= FORMAT_HALF;
        if (end - *at < half)
                return false;
        ret->size = half;
        *at += half;
        return true;
}

static int kernel_info(const struct image *image, const Elf64_Shdr *h, struct fatbin_kernel *kernel)
{
        const unsigned char *at, *end;
        struct record record;
        int r = 0;

        if (h->sh_type == SHT_NOBITS || !is_inside(image, h->sh_offset, h->sh_size))
                return -EINVAL;
        at = image->bytes + h->sh_offset;
        end = at + h->sh_size;
        while (r == 0 && record_next(&at, end, &record)) {
                if (record.attribute == INFO_PARAM_SIZE)
                        kernel->param_bytes = record.half;
                r = kernel_record(kernel, record.attribute, record.size, record.value);
        }
        return r;
}

/* The symbol's name, for records that name a kernel by its index. */
static const char *symbol_name(const struct image *image, const Elf64_Shdr *symbols, uint32_t index)
{
        Elf64_Shdr strings;
        Elf64_Sym symbol;
        uint64_t at = (uint64_t)index * sizeof symbol;

        if (!is_inside(image, symbols->sh_offset, symbols->sh_size) ||
            at + sizeof symbol > symbols->sh_size || !header_at(image, symbols->sh_link, &strings))
                return "";
        memcpy(&symbol, image->bytes + symbols->sh_offset + at, sizeof symbol);
        return text_at(image, &strings, symbol.st_name);
}

static void module_info(const struct image *image, const Elf64_Shdr *h, const Elf64_Shdr *symbols,
                        struct fatbin *fatbin)
{
        const unsigned char *at, *end;
        struct record record;

        if (h->sh_type == SHT_NOBITS || !is_inside(image, h->sh_offset, h->sh_size))
                return;
        at = image->bytes + h->sh_offset;
        end = at + h->sh_size;
        while (record_next(&at, end, &record)) {
                struct fatbin_kernel *kernel;
                uint32_t pair[2];

                if (record.size < 8)
                        continue;
                memcpy(pair, record.value, sizeof pair);
                kernel = kernel_find(fatbin, symbol_name(image, symbols, pair[0]));
                if (kernel && record.attribute == INFO_REGISTERS && pair[1] && pair[1] <= 255)
                        kernel->registers = pair[1];
                if (kernel && record.attribute == INFO_FRAME_SIZE && pair[1] < (1u << 24))
                        kernel->local_bytes = pair[1];
        }
}

static int variable_add(const struct image *image, struct fatbin *fatbin, const Elf64_Sym *symbol,
                        const char *name, const struct section *section)
{
        struct fatbin_variable v = { .size = symbol->st_size,
                                     .is_const = after(section->name, ".nv.constant") != NULL };
        struct fatbin_variable *moved;

        if (section->header.sh_type != SHT_NOBITS && symbol->st_value <= section->header.sh_size &&
            symbol->st_size <= section->header.sh_size - symbol->st_value &&
            is_inside(image, section->header.sh_offset, section->header.sh_size)) {
                v.initial = malloc(symbol->st_size + 1);
                if (!v.initial)
                        return -ENOMEM;
                memcpy(v.initial, image->bytes + section->header.sh_offset + symbol->st_value,
                       symbol->st_size);
        }
        moved = realloc(fatbin->variables, (fatbin->variable_count + 1) * sizeof *moved);
        v.name = strdup(name);
        if (moved)
                fatbin->variables = moved;
        if (!moved || !v.name) {
                free(v.initial);
                free(v.name);
                return -ENOMEM;
        }
        moved[fatbin->variable_count++] = v;
        return 0;
}

static int variables_read(const struct image *image, const Elf64_Shdr *symbols,
                          struct fatbin *fatbin)
{
        uint64_t count = symbols->sh_size / sizeof(Elf64_Sym);
        int r = 0;

        if (!is_inside(image, symbols->sh_offset, symbols->sh_size))
                return -EINVAL;
        for (uint32_t n = 0; n < count && r == 0; n++) {
                struct section section;
                const char *name = symbol_name(image, symbols, n);
                Elf64_Sym symbol;

                memcpy(&symbol, image->bytes + symbols->sh_offset + n * sizeof symbol,
                       sizeof symbol);
                if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || !*name ||
                    symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE ||
                    !section_at(image, symbol.st_shndx, &section))
                        continue;
                if (after(section.name, ".nv.global") || strcmp(section.name, ".nv.constant3") == 0)
                        r = variable_add(image, fatbin, &symbol, name, &section);
        }
        return r;
}

/* First all kernels, then what is said about them. */
static int kernels_read(const struct image *image, struct fatbin *fatbin)
{
        int r = 0;

        for (unsigned n = 0; n < image->header.e_shnum && r == 0; n++) {
                struct section s;
                const char *name;

                if (!section_at(image, n, &s))
                        return -EINVAL;
                name = after(s.name, ".text.");
                if (name && *name)
                        r = kernel_add(fatbin, name, s.header.sh_info >> 24);
        }
        return r;
}

static int details_read(const struct image *image, struct fatbin *fatbin)
{
        Elf64_Shdr symbols = { 0 };
        struct section s;
        int r = 0;

        for (unsigned n = 0; n < image->header.e_shnum && section_at(image, n, &s); n++)
                if (s.header.sh_type == SHT_SYMTAB)
                        symbols = s.header;
        for (unsigned n = 0; n < image->header.e_shnum && r == 0 && section_at(image, n, &s); n++) {
                const char *info = after(s.name, ".nv.info."),
                           *shared = after(s.name, ".nv.shared.");
                struct fatbin_kernel *kernel = info     ? kernel_find(fatbin, info)
                                               : shared ? kernel_find(fatbin, shared)
                                                        : NULL;

                if (kernel && info)
                        r = kernel_info(image, &s.header, kernel);
                else if (kernel && s.header.sh_size < (1u << 24))
                        kernel->shared_bytes = (uint32_t)s.header.sh_size;
                else if (strcmp(s.name, ".nv.info") == 0)
                        module_info(image, &s.header, &symbols, fatbin);
        }
        return r == 0 && symbols.sh_size ? variables_read(image, &symbols, fatbin) : r;
}

int fatbin_elf_read(const unsigned char *bytes, uint64_t length, struct fatbin *fatbin)
{
        struct image image = { .bytes = bytes, .length = length };
        int r;

        if (length < sizeof image.header)
                return -EINVAL;
        memcpy(&image.header, bytes, sizeof image.header);
        if (image.header.e_machine != EM_CUDA_MACHINE)
                return -EINVAL;
        r = kernels_read(&image, fatbin);
        if (r == 0)
                r = details_read(&image, fatbin);
        fatbin->has_elf = r == 0;
        return r;
}
