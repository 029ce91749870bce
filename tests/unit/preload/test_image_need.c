/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a code image is known to take, before the driver has seen it. */
#include "image_need.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define HEAD ".version 7.0\n.target sm_50\n.address_size 64\n"

TEST(variables_of_a_module)
{
        CHECK_EQ(image_need(HEAD ".global .align 4 .b8 table[4194304];\n"), 4194304);
        CHECK_EQ(image_need(HEAD ".visible .global .f64 x;\n.weak .global .u32 y[3][5];\n"), 68);
        CHECK_EQ(image_need(HEAD ".global .align 16 .v4 .f32 a[10], b;\n"), 176);
        CHECK_EQ(image_need("// words\n/* more */ " HEAD ".global .b32 a[2] = {1, 2};\n"
                            ".global .b64 b;"),
                 16);
        CHECK_EQ(image_need(HEAD ".global .b8 text[3] = \"a;\"; .global .b16 c;"), 5);
}

TEST(memory_outside_the_image_does_not_count)
{
        CHECK_EQ(image_need(HEAD ".extern .global .b8 table[100];\n"), 0);
        CHECK_EQ(image_need(HEAD ".global .attribute(.managed) .align 4 .b8 table[100];\n"), 0);
        CHECK_EQ(image_need(HEAD ".const .b8 table[100];\n.shared .b8 more[100];\n"), 0);
        CHECK_EQ(image_need(HEAD ".global .texref t;\n.global .b8 unknown[];\n"), 0);
}

TEST(functions_are_passed_over)
{
        CHECK_EQ(image_need(HEAD
                            ".file 1 \"a;b.cu\"\n"
                            ".visible .entry k(.param .u64 .ptr .global .align 4 p) .maxntid 32\n"
                            "{\n.reg .b32 %r<4>;\nld.global.u32 %r1, [p];\n{ ret; }\n}\n"
                            ".func f;\n.global .b8 after[7];\n"
                            ".section .debug_str { .b8 1,2 }\n.global .b8 last;\n"),
                 8);
}

TEST(nonsense_says_nothing)
{
        CHECK_EQ(image_need(NULL), 0);
        CHECK_EQ(image_need("hello, world and all"), 0);
        CHECK_EQ(image_need(HEAD ".global .b8 huge[99999999999999999999999];\n"), 0);
        CHECK_EQ(image_need(HEAD ".global .b8 huge[4294967296][4294967296];\n"), 0);
        CHECK_EQ(image_need(HEAD ".global .b8 cut["), 0);
        CHECK_EQ(image_need(HEAD "/* no end"), 0);
}

/* Machine code with one variable section, and one symbol of this kind. */
struct code {
        Elf64_Ehdr header;
        Elf64_Shdr sections[3];
        Elf64_Sym symbol;
        char names[32];
};

static struct code code_of(uint64_t bytes, unsigned char other)
{
        struct code code = { .header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                                      ELFCLASS64 },
                                         .e_shoff = offsetof(struct code, sections),
                                         .e_shentsize = sizeof(Elf64_Shdr),
                                         .e_shnum = 3,
                                         .e_shstrndx = 2 },
                             .names = "\0.nv.global" };

        code.sections[0] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOBITS, .sh_size = bytes };
        code.sections[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
                                         .sh_link = 2,
                                         .sh_offset = offsetof(struct code, symbol),
                                         .sh_size = sizeof(Elf64_Sym) };
        code.sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
                                         .sh_offset = offsetof(struct code, names),
                                         .sh_size = sizeof code.names };
        code.symbol = (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                   .st_other = other,
                                   .st_name = 1 };
        return code;
}

TEST(variables_of_machine_code)
{
        struct code code = code_of(5 << 20, 0);

        CHECK_EQ(image_need_elf(&code, sizeof code, NULL), 5 << 20);
        CHECK_EQ(image_need_elf(&code, 60, NULL), 0);
        code.names[10] = 'X'; /* another section */
        CHECK_EQ(image_need_elf(&code, sizeof code, NULL), 0);
        code = code_of(5 << 20, 0x10); /* of a kind that is not plain: it may be managed */
        CHECK_EQ(image_need_elf(&code, sizeof code, NULL), 0);
}

/* Names, one after the other. */
static void name_add(const char *name, void *user)
{
        strcat(user, name);
        strcat(user, " ");
}

TEST(names_of_variables_that_may_be_managed)
{
        struct code code = code_of(0, 0x10);
        char names[64] = "";

        image_managed(HEAD ".global .attribute(.managed) .align 4 .b8 a[8], b;\n.global .b8 c;\n"
                           ".extern .global .attribute(.managed) .b8 d;\n",
                      name_add, names);
        assert_string_equal(names, "a b ");
        names[0] = '\0';
        image_need_elf(&code, sizeof code, &(struct image_query){ name_add, names });
        assert_string_equal(names, ".nv.global ");
}

/* A fat binary of these entries; the caller frees. */
static unsigned char *fat_of(unsigned count, const unsigned kinds[], const void *const payloads[],
                             const size_t lengths[], uint64_t flags)
{
        unsigned char *image = calloc(1, 1 << 16);
        uint64_t at = 16;

        for (unsigned i = 0; i < count; i++) {
                const uint16_t kind = (uint16_t)kinds[i];
                const uint32_t header = 64;
                const uint64_t length = lengths[i];

                memcpy(image + at, &kind, 2);
                memcpy(image + at + 4, &header, 4);
                memcpy(image + at + 8, &length, 8);
                memcpy(image + at + 40, &flags, 8);
                memcpy(image + at + 64, payloads[i], length);
                at += 64 + length;
        }
        const uint32_t magic = 0xba55ed50u;
        const uint16_t own = 16;
        const uint64_t size = at - 16;
        memcpy(image, &magic, 4);
        memcpy(image + 6, &own, 2);
        memcpy(image + 8, &size, 8);
        return image;
}

TEST(a_fat_binary_takes_what_its_smallest_entry_takes)
{
        static const char ptx[] = HEAD ".global .b8 table[1000];\n";
        const struct code code = code_of(3000, 0);
        const unsigned kinds[] = { 2, 1 };
        const void *const payloads[] = { &code, ptx };
        const size_t lengths[] = { sizeof code, sizeof ptx };
        unsigned char *image = fat_of(2, kinds, payloads, lengths, 0);
        struct {
                uint32_t magic, version;
                const void *inner, *more;
        } wrapper = { 0x466243b1, 1, image, NULL };

        CHECK_EQ(image_need(image), 1000);
        CHECK_EQ(image_need(&wrapper), 1000);
        free(image);
        image = fat_of(1, kinds, payloads, lengths, 0);
        CHECK_EQ(image_need(image), 3000);
        free(image);
        image = fat_of(2, kinds, payloads, lengths, 0x2000); /* packed: not to be read here */
        CHECK_EQ(image_need(image), 0);
        free(image);
}

int main(void)
{
        return RUN(CASE(variables_of_a_module), CASE(memory_outside_the_image_does_not_count),
                   CASE(functions_are_passed_over), CASE(nonsense_says_nothing),
                   CASE(variables_of_machine_code), CASE(names_of_variables_that_may_be_managed),
                   CASE(a_fat_binary_takes_what_its_smallest_entry_takes));
}
