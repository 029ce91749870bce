/* SPDX-License-Identifier: Apache-2.0 */
/* PTX's fundamental types: their names and widths. */
#include "ptx_type.h"

#include <string.h>

static const struct {
        const char *name;
        uint8_t width;
        char class; /* b, u, s, f or p */
} types[TYPE_COUNT] = {
        [TYPE_NONE] = { "", 0, 0 },           [TYPE_B8] = { "b8", 1, 'b' },
        [TYPE_U8] = { "u8", 1, 'u' },         [TYPE_S8] = { "s8", 1, 's' },
        [TYPE_B16] = { "b16", 2, 'b' },       [TYPE_U16] = { "u16", 2, 'u' },
        [TYPE_S16] = { "s16", 2, 's' },       [TYPE_F16] = { "f16", 2, 'f' },
        [TYPE_BF16] = { "bf16", 2, 'f' },     [TYPE_B32] = { "b32", 4, 'b' },
        [TYPE_U32] = { "u32", 4, 'u' },       [TYPE_S32] = { "s32", 4, 's' },
        [TYPE_F32] = { "f32", 4, 'f' },       [TYPE_F16X2] = { "f16x2", 4, 'f' },
        [TYPE_BF16X2] = { "bf16x2", 4, 'f' }, [TYPE_TF32] = { "tf32", 4, 'f' },
        [TYPE_B64] = { "b64", 8, 'b' },       [TYPE_U64] = { "u64", 8, 'u' },
        [TYPE_S64] = { "s64", 8, 's' },       [TYPE_F64] = { "f64", 8, 'f' },
        [TYPE_B128] = { "b128", 16, 'b' },    [TYPE_PRED] = { "pred", 0, 'p' },
};

enum type type_find(const char *text, size_t length)
{
        for (unsigned i = TYPE_NONE + 1; i < TYPE_COUNT; i++)
                if (strlen(types[i].name) == length && memcmp(types[i].name, text, length) == 0)
                        return (enum type)i;
        return TYPE_NONE;
}

unsigned type_width(enum type type)
{
        return types[type].width;
}

bool type_is_signed(enum type type)
{
        return types[type].class == 's';
}

bool type_is_float(enum type type)
{
        return types[type].class == 'f';
}
