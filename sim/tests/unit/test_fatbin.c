/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of fatbin: images as three compilers write them, and damaged ones. */
#include "fatbin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "unit.h"

static unsigned char *image_load(const char *name, size_t *ret_length)
{
        char path[512];
        unsigned char *bytes = malloc(1 << 20);
        FILE *f;

        snprintf(path, sizeof path, "%s/%s", PTX_DATA, name);
        f = fopen(path, "rb");
        CHECK(f && bytes);
        *ret_length = fread(bytes, 1, 1 << 20, f);
        fclose(f);
        return bytes;
}

static void kernel_check(const struct fatbin *fatbin)
{
        CHECK(fatbin->has_elf);
        CHECK_EQ(fatbin->kernel_count, 1);
        CHECK_STR(fatbin->kernels[0].name, "scale_all");
        CHECK_EQ(fatbin->kernels[0].param_count, 3);
        CHECK_EQ(fatbin->kernels[0].param_bytes, 13);
        CHECK_EQ(fatbin->kernels[0].params[0].size, 8);
        CHECK_EQ(fatbin->kernels[0].params[1].offset, 8);
        CHECK_EQ(fatbin->kernels[0].params[1].size, 4);
        CHECK_EQ(fatbin->kernels[0].params[2].offset, 12);
        CHECK_EQ(fatbin->kernels[0].params[2].size, 1);
        CHECK_EQ(fatbin->kernels[0].shared_bytes, 512);
        CHECK_EQ(fatbin->kernels[0].max_threads, 128);
        CHECK(fatbin->kernels[0].registers >= 8 && fatbin->kernels[0].registers <= 64);
}

static const struct fatbin_variable *variable_find(const struct fatbin *fatbin, const char *name)
{
        for (size_t n = 0; n < fatbin->variable_count; n++)
                if (strcmp(fatbin->variables[n].name, name) == 0)
                        return &fatbin->variables[n];
        return NULL;
}

TEST(lz4_entries_are_unpacked)
{
        size_t length;
        unsigned char *image = image_load("small.lz4.fatbin", &length);
        struct fatbin fatbin;

        CHECK_EQ(fatbin_read(image, length, 80, &fatbin, NULL), 0);
        CHECK_EQ(fatbin.ptx_sm, 75);
        CHECK_EQ(fatbin.least_sm, 60);
        CHECK(strstr(fatbin.ptx, ".target sm_75") && strstr(fatbin.ptx, "scale_all"));
        CHECK_EQ(fatbin.ptx_length, strlen(fatbin.ptx));
        CHECK_EQ(fatbin.elf_sm, 80);
        kernel_check(&fatbin);
        fatbin_done(&fatbin);
        free(image);
}

TEST(zstd_entries_are_unpacked)
{
        size_t length;
        unsigned char *image = image_load("small.zstd.fatbin", &length);
        struct fatbin fatbin;

        CHECK_EQ(fatbin_read(image, 0, 89, &fatbin, NULL), 0);
        CHECK_EQ(fatbin.ptx_sm, 75);
        CHECK(strstr(fatbin.ptx, ".target sm_75"));
        kernel_check(&fatbin);
        fatbin_done(&fatbin);
        CHECK_EQ(fatbin_read(image, 0, 90, &fatbin, NULL), 0);
        CHECK_EQ(fatbin.ptx_sm, 90);
        CHECK(!fatbin.has_elf);
        fatbin_done(&fatbin);
        free(image);
}

TEST(ptx_for_newer_devices_only_is_recognized)
{
        size_t length;
        unsigned char *image = image_load("small.zstd.fatbin", &length);
        struct fatbin fatbin;

        CHECK_EQ(fatbin_read(image, length, 70, &fatbin, NULL), 0);
        CHECK(!fatbin.ptx);
        CHECK_EQ(fatbin.least_sm, 75);
        CHECK(!fatbin.has_elf);
        fatbin_done(&fatbin);
        free(image);
}

TEST(a_wrapper_leads_to_the_fat_binary)
{
        size_t length;
        unsigned char *image = image_load("small.lz4.fatbin", &length);
        struct {
                uint32_t magic, version;
                const void *data;
                void *unused;
        } wrapper = { 0x466243b1, 1, image, NULL };
        struct fatbin fatbin;

        CHECK_EQ(fatbin_read(&wrapper, 0, 61, &fatbin, NULL), 0);
        CHECK_EQ(fatbin.ptx_sm, 60);
        CHECK(!fatbin.has_elf);
        fatbin_done(&fatbin);
        wrapper.data = NULL;
        CHECK_EQ(fatbin_read(&wrapper, sizeof wrapper, 61, &fatbin, NULL), -EINVAL);
        free(image);
}

TEST(machine_code_tells_its_kernels_and_variables)
{
        size_t length;
        unsigned char *image = image_load("small.cubin", &length);
        struct fatbin fatbin;
        const struct fatbin_variable *v;
        float scale;

        CHECK_EQ(fatbin_read(image, 0, 80, &fatbin, NULL), 0);
        CHECK(!fatbin.ptx);
        CHECK_EQ(fatbin.elf_sm, 80);
        kernel_check(&fatbin);
        v = variable_find(&fatbin, "table");
        CHECK(v && v->size == 16 && !v->is_const && v->initial);
        CHECK_EQ(v->initial[8], 3);
        v = variable_find(&fatbin, "scale");
        CHECK(v && v->size == 4 && v->is_const && v->initial);
        memcpy(&scale, v->initial, sizeof scale);
        CHECK(scale == 2.5f);
        v = variable_find(&fatbin, "counter");
        CHECK(v && v->size == 8 && !v->initial);
        fatbin_done(&fatbin);
        free(image);
}

TEST(bare_text_is_taken_as_it_is)
{
        static const char text[] = "// made by hand\n/* so */ .version 7.0\n.target sm_70\n";
        struct fatbin fatbin;

        CHECK_EQ(fatbin_read(text, 0, 80, &fatbin, NULL), 0);
        CHECK_STR(fatbin.ptx, text);
        fatbin_done(&fatbin);
        CHECK_EQ(fatbin_read(text, sizeof text - 1, 80, &fatbin, NULL), 0);
        CHECK_EQ(fatbin.ptx_length, sizeof text - 1);
        fatbin_done(&fatbin);
}

TEST(other_bytes_are_refused_with_a_sentence)
{
        struct fatbin fatbin;
        struct err e = { 0 };

        CHECK_EQ(fatbin_read("nothing that a driver knows", 0, 80, &fatbin, &e), -EINVAL);
        CHECK_STR(e.text, "the image is not a fat binary, ELF or PTX");
        CHECK_EQ(fatbin_read("ab", 2, 80, &fatbin, &e), -EINVAL);
}

/* Every cut and many flipped bits: an answer each time, and nothing read outside. */
static void damage_try(const char *name)
{
        size_t length;
        unsigned char *image = image_load(name, &length);
        uint32_t seed = 1;

        for (size_t cut = 1; cut < length; cut += 1 + cut / 16) {
                unsigned char *copy = malloc(cut);
                struct fatbin fatbin;

                memcpy(copy, image, cut);
                if (fatbin_read(copy, cut, 80, &fatbin, NULL) == 0)
                        fatbin_done(&fatbin);
                free(copy);
        }
        for (int round = 0; round < 2000; round++) {
                unsigned char *copy = malloc(length);
                struct fatbin fatbin;

                memcpy(copy, image, length);
                for (int n = 0; n < 3; n++) {
                        seed = seed * 1664525 + 1013904223;
                        copy[(seed >> 8) % (n ? length : 160)] ^= (unsigned char)(1u << (seed & 7));
                }
                if (fatbin_read(copy, length, 80, &fatbin, NULL) == 0)
                        fatbin_done(&fatbin);
                free(copy);
        }
        free(image);
}

TEST(damaged_images_do_no_harm)
{
        damage_try("small.lz4.fatbin");
        damage_try("small.zstd.fatbin");
        damage_try("small.cubin");
}

int main(void)
{
        return RUN(CASE(lz4_entries_are_unpacked), CASE(zstd_entries_are_unpacked),
                   CASE(ptx_for_newer_devices_only_is_recognized),
                   CASE(a_wrapper_leads_to_the_fat_binary),
                   CASE(machine_code_tells_its_kernels_and_variables),
                   CASE(bare_text_is_taken_as_it_is), CASE(other_bytes_are_refused_with_a_sentence),
                   CASE(damaged_images_do_no_harm));
}
