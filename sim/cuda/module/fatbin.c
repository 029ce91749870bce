/* SPDX-License-Identifier: Apache-2.0 */
/* Fat binaries: finds the PTX and the machine code for a device, unpacks them. */
#include "fatbin.h"

#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "err.h"
#include "fatbin_elf.h"

#define WRAPPER_MAGIC  0x466243b1u
#define HEADER_MAGIC   0xba55ed50u
#define ENTRY_BYTES    64u
#define UNPACKED_LIMIT (UINT64_C(1) << 30)

enum { KIND_PTX = 1, KIND_ELF = 2 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

struct entry {
        unsigned kind, sm;
        uint32_t compressed;
        uint64_t flags, unpacked, payload;
        const unsigned char *bytes;
};

/* The entry's bytes, unpacked if need be, with a NUL after them; the caller frees. */
static int entry_unpack(const struct entry *entry, unsigned char **ret, uint64_t *ret_length)
{
        bool is_packed = entry->flags & (FLAG_LZ4 | FLAG_ZSTD);
        uint64_t capacity = is_packed ? entry->unpacked : entry->payload;
        uint64_t length = entry->compressed && is_packed ? entry->compressed : entry->payload;
        unsigned char *bytes;
        int64_t got = (int64_t)capacity;

        if (capacity > UNPACKED_LIMIT || length > UNPACKED_LIMIT || length > entry->payload)
                return -EINVAL;
        bytes = malloc(capacity + 1);
        if (!bytes)
                return -ENOMEM;
        if (entry->flags & FLAG_ZSTD) {
                size_t n = ZSTD_decompress(bytes, capacity, entry->bytes, length);

                got = ZSTD_isError(n) ? -EINVAL : (int64_t)n;
        } else if (entry->flags & FLAG_LZ4)
                got = LZ4_decompress_safe((const char *)entry->bytes, (char *)bytes, (int)length,
                                          (int)capacity);
        else
                memcpy(bytes, entry->bytes, capacity);
        if (got < 0) {
                free(bytes);
                return -EINVAL;
        }
        bytes[got] = 0;
        *ret = bytes;
        *ret_length = (uint64_t)got;
        return 0;
}

static bool entry_at(const unsigned char *at, const unsigned char *end, struct entry *ret,
                     const unsigned char **ret_next)
{
        uint16_t kind;
        uint32_t header, sm;

        if ((size_t)(end - at) < ENTRY_BYTES)
                return false;
        memcpy(&kind, at, 2);
        memcpy(&header, at + 4, 4);
        memcpy(&ret->payload, at + 8, 8);
        memcpy(&ret->compressed, at + 16, 4);
        memcpy(&sm, at + 28, 4);
        memcpy(&ret->flags, at + 40, 8);
        memcpy(&ret->unpacked, at + 56, 8);
        if (header < ENTRY_BYTES || header > (size_t)(end - at) ||
            ret->payload > (size_t)(end - at) - header)
                return false;
        ret->kind = kind;
        ret->sm = sm;
        ret->bytes = at + header;
        *ret_next = at + header + ret->payload;
        return true;
}

/* Machine code runs on devices of its own generation that are not older. */
static bool elf_suits(unsigned sm, unsigned device_sm)
{
        return sm <= device_sm && sm / 10 == device_sm / 10;
}

static int entry_take_ptx(const struct entry *entry, struct fatbin *fatbin)
{
        unsigned char *bytes;
        uint64_t length;
        int r = entry_unpack(entry, &bytes, &length);

        if (r < 0)
                return r;
        free(fatbin->ptx);
        fatbin->ptx = (char *)bytes;
        fatbin->ptx_length = strlen(fatbin->ptx) < length ? strlen(fatbin->ptx) : length;
        fatbin->ptx_sm = entry->sm;
        return 0;
}

static int entry_take_elf(const struct entry *entry, struct fatbin *fatbin)
{
        unsigned char *bytes;
        uint64_t length;
        int r = entry_unpack(entry, &bytes, &length);

        if (r < 0)
                return r;
        r = fatbin_elf_read(bytes, length, fatbin);
        fatbin->elf_sm = entry->sm;
        free(bytes);
        return r;
}

static int header_read(const unsigned char *image, uint64_t length, unsigned device_sm,
                       struct fatbin *fatbin, struct err *e)
{
        const unsigned char *at, *end, *next;
        struct entry entry, ptx = { 0 }, elf = { 0 }, any_elf = { 0 };
        uint16_t header;
        uint64_t size;
        int r = 0;

        if (length && length < 16)
                return err_set(e, -EINVAL, "the fat binary is too short");
        memcpy(&header, image + 6, 2);
        memcpy(&size, image + 8, 8);
        if (header < 16 || size > UNPACKED_LIMIT ||
            (length && (header > length || size > length - header)))
                return err_set(e, -EINVAL, "the fat binary's size is wrong");
        end = image + header + size;
        for (at = image + header; entry_at(at, end, &entry, &next); at = next) {
                if (entry.kind == KIND_PTX) {
                        if (!fatbin->least_sm || entry.sm < fatbin->least_sm)
                                fatbin->least_sm = entry.sm;
                        if (entry.sm <= device_sm && (!ptx.bytes || entry.sm > ptx.sm))
                                ptx = entry;
                } else if (entry.kind == KIND_ELF) {
                        if (elf_suits(entry.sm, device_sm) && (!elf.bytes || entry.sm > elf.sm))
                                elf = entry;
                        any_elf = entry;
                }
        }
        if (at < end && (size_t)(end - at) >= ENTRY_BYTES)
                return err_set(e, -EINVAL, "an entry of the fat binary is damaged");
        if (!elf.bytes && !ptx.bytes && !fatbin->least_sm)
                elf = any_elf; /* only foreign machine code: its names and sizes still hold */
        if (ptx.bytes)
                r = entry_take_ptx(&ptx, fatbin);
        if (r == 0 && elf.bytes)
                r = entry_take_elf(&elf, fatbin);
        return r < 0 ? err_set(e, r, "an entry of the fat binary cannot be unpacked") : 0;
}

/* PTX text may be preceded by comments and blank lines. */
static bool text_is_ptx(const char *text, size_t length)
{
        size_t at = 0;

        while (length == 0 || at < length) {
                if (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')
                        at++;
                else if (text[at] == '/' && (length == 0 || at + 1 < length) && text[at + 1] == '/')
                        while ((length == 0 || at < length) && text[at] && text[at] != '\n')
                                at++;
                else if (text[at] == '/' && (length == 0 || at + 1 < length) &&
                         text[at + 1] == '*') {
                        for (at += 2; (length == 0 || at + 1 < length) && text[at] &&
                                      !(text[at] == '*' && text[at + 1] == '/');)
                                at++;
                        if ((length && at + 1 >= length) || !text[at])
                                return false;
                        at += 2;
                } else
                        break;
        }
        if (length && at + 8 > length)
                return false;
        return strncmp(text + at, ".version", 8) == 0;
}

static int text_take(const char *text, size_t length, struct fatbin *fatbin)
{
        size_t ends = length ? strnlen(text, length) : strlen(text);

        fatbin->ptx = malloc(ends + 1);
        if (!fatbin->ptx)
                return -ENOMEM;
        memcpy(fatbin->ptx, text, ends);
        fatbin->ptx[ends] = 0;
        fatbin->ptx_length = ends;
        return 0;
}

static int elf_take(const unsigned char *image, uint64_t length, struct fatbin *fatbin,
                    struct err *e)
{
        uint64_t own = fatbin_elf_length(image);
        uint32_t flags;
        int r;

        if (length && own > length)
                return err_set(e, -EINVAL, "the ELF image is truncated");
        r = own ? fatbin_elf_read(image, length ? length : own, fatbin) : -EINVAL;
        if (r < 0)
                return err_set(e, r, "the ELF image is damaged or not for a GPU");
        memcpy(&flags, image + 48, sizeof flags);
        /* Since CUDA 13 the architecture sits one byte higher. */
        fatbin->elf_sm = image[7] == 0x41 || image[8] >= 8 ? flags >> 8 & 0xff : flags & 0xff;
        return 0;
}

static int image_read(const unsigned char *image, size_t length, unsigned device_sm,
                      struct fatbin *fatbin, struct err *e)
{
        uint32_t magic = 0;

        if (length && length < 16)
                return text_is_ptx((const char *)image, length)
                               ? text_take((const char *)image, length, fatbin)
                               : err_set(e, -EINVAL, "the image is too short");
        memcpy(&magic, image, sizeof magic);
        if (magic == WRAPPER_MAGIC) {
                const unsigned char *inner;

                /* A wrapper is part of a running program; in a file its address means nothing. */
                if (length)
                        return err_set(e, -EINVAL, "a file cannot be a fat binary's wrapper");
                memcpy(&inner, image + 8, sizeof inner);
                if (!inner)
                        return err_set(e, -EINVAL, "the fat binary's wrapper is empty");
                memcpy(&magic, inner, sizeof magic);
                image = inner;
                length = 0;
        }
        if (magic == HEADER_MAGIC)
                return header_read(image, length, device_sm, fatbin, e);
        if (fatbin_elf_is(image, length))
                return elf_take(image, length, fatbin, e);
        if (text_is_ptx((const char *)image, length))
                return text_take((const char *)image, length, fatbin);
        return err_set(e, -EINVAL, "the image is not a fat binary, ELF or PTX");
}

int fatbin_read(const void *image, size_t length, unsigned device_sm, struct fatbin *ret_fatbin,
                struct err *e)
{
        struct fatbin fatbin = { 0 };
        int r = image_read(image, length, device_sm, &fatbin, e);

        if (r < 0) {
                fatbin_done(&fatbin);
                return r;
        }
        *ret_fatbin = fatbin;
        return 0;
}

void fatbin_done(struct fatbin *fatbin)
{
        free(fatbin->ptx);
        for (size_t n = 0; n < fatbin->kernel_count; n++) {
                free(fatbin->kernels[n].name);
                free(fatbin->kernels[n].params);
        }
        for (size_t n = 0; n < fatbin->variable_count; n++) {
                free(fatbin->variables[n].name);
                free(fatbin->variables[n].initial);
        }
        free(fatbin->kernels);
        free(fatbin->variables);
        *fatbin = (struct fatbin){ 0 };
}
