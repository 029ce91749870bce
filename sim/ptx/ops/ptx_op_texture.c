/* SPDX-License-Identifier: Apache-2.0 */
/* Textures and surfaces: the launch's callbacks know the images, we know the operands. */
#include "ptx_ops.h"

struct image_access {
        unsigned dimensions, coordinates;
        bool is_array, is_cube, is_integer, has_level, is_gather, has_sampler;
        unsigned component, bytes, boundary;
        enum type type;
        struct slot handle, sampler, level;
        struct slot coordinate[4];
};

static const struct {
        const char *name;
        unsigned dimensions, coordinates;
        bool is_array, is_cube;
} geometries[] = {
        { "1d", 1, 1, false, false },  { "2d", 2, 2, false, false }, { "3d", 3, 3, false, false },
        { "a1d", 1, 2, true, false },  { "a2d", 2, 3, true, false }, { "cube", 2, 3, false, true },
        { "acube", 2, 4, true, true },
};

static bool geometry_find(const struct statement *s, struct image_access *a)
{
        for (unsigned n = 0; n < sizeof geometries / sizeof *geometries; n++)
                if (statement_has(s, geometries[n].name)) {
                        a->dimensions = geometries[n].dimensions;
                        a->coordinates = geometries[n].coordinates;
                        a->is_array = geometries[n].is_array;
                        a->is_cube = geometries[n].is_cube;
                        return true;
                }
        return false;
}

/* An array's layer comes first in PTX and last in a texel. */
static void texel_fill(const struct warp *w, const struct image_access *a, uint32_t lane,
                       struct ptx_texel *t)
{
        *t = (struct ptx_texel){ .handle = lane_get(w, a->handle, lane),
                                 .dimensions = a->dimensions,
                                 .is_array = a->is_array,
                                 .is_cube = a->is_cube,
                                 .is_integer_coordinate = a->is_integer,
                                 .has_level = a->has_level,
                                 .is_gather = a->is_gather,
                                 .component = a->component,
                                 .bytes = a->bytes,
                                 .boundary = a->boundary };
        if (a->has_sampler)
                t->sampler = lane_get(w, a->sampler, lane);
        for (unsigned n = 0; n < a->coordinates; n++) {
                bool is_layer = a->is_array && n == 0;
                unsigned at = a->is_array ? (n + a->coordinates - 1) % a->coordinates : n;
                uint32_t bits = (uint32_t)lane_get(w, a->coordinate[n], lane);

                t->coordinate_int[at] = (int32_t)bits;
                if (is_layer || a->is_integer)
                        t->coordinate[at] = (float)(int32_t)bits;
                else
                        memcpy(&t->coordinate[at], &bits, sizeof bits);
        }
        if (a->has_level) {
                uint32_t bits = (uint32_t)lane_get(w, a->level, lane);

                if (a->is_integer)
                        t->level = (float)(int32_t)bits;
                else
                        memcpy(&t->level, &bits, sizeof bits);
        }
}

enum { IMAGE_FETCH, IMAGE_LOAD, IMAGE_STORE };

static bool image_call(const struct ptx_images *images, unsigned mode, struct ptx_texel *t)
{
        switch (mode) {
        case IMAGE_FETCH:
                return images->fetch && images->fetch(images->closure, t);
        case IMAGE_LOAD:
                return images->surface_load && images->surface_load(images->closure, t);
        default:
                return images->surface_store && images->surface_store(images->closure, t);
        }
}

/* A texel's bytes are packed for surfaces, one word per component for textures. */
static uint64_t texel_get(const struct ptx_texel *t, unsigned n, unsigned width, bool is_packed)
{
        uint64_t value = 0;

        if (is_packed)
                memcpy(&value, (const unsigned char *)t->value + n * width, width);
        else
                value = t->value[n];
        return value;
}

static void image(struct warp *w, const struct insn *i)
{
        const struct image_access *a = i->detail;
        const struct ptx_images *images = w->block->run->launch->images;
        unsigned width = type_width(a->type);
        uint32_t mask = w->exec;

        if (!images) {
                run_fault(w, PTX_UNSUPPORTED, 0, "textures and surfaces (PTX line %u)", i->line);
                return;
        }
        while (mask) {
                uint32_t l = lane_next(&mask);
                struct ptx_texel t;

                texel_fill(w, a, l, &t);
                for (unsigned n = 0; n < i->count && i->mode == IMAGE_STORE; n++) {
                        uint64_t value = lane_get(w, i->list[n], l);

                        memcpy((unsigned char *)t.value + n * width, &value, width);
                }
                if (!image_call(images, i->mode, &t)) {
                        run_fault(w, PTX_ILLEGAL_ADDRESS, t.handle, "image access (PTX line %u)",
                                  i->line);
                        return;
                }
                for (unsigned n = 0; n < i->count && i->mode != IMAGE_STORE; n++)
                        if (i->list[n].width != UINT8_MAX)
                                lane_put(w, i->list[n], l,
                                         texel_get(&t, n, width, i->mode == IMAGE_LOAD));
        }
}

static bool image_values(struct parser *p, const struct operand *o, bool is_store,
                         struct image_access *a, struct slot **ret, unsigned *ret_count)
{
        unsigned count = o->kind == OPERAND_VECTOR ? o->count : 1;
        struct slot *list = body_own(p, (count + 1) * sizeof *list);

        if (!list)
                return false;
        if (!count || count > 4 || count * type_width(a->type) > 16)
                return body_unsupported(p, "line %u: an image access of this form",
                                        p->body.statement->line);
        for (unsigned n = 0; n < count; n++) {
                const struct operand *one = o->kind == OPERAND_VECTOR ? &o->elements[n] : o;

                if (!is_store && one->kind == OPERAND_SINK)
                        list[n].width = UINT8_MAX;
                else if (!is_store && one->kind != OPERAND_REGISTER)
                        return body_unsupported(p, "line %u: an image load to no register",
                                                p->body.statement->line);
                else if (!body_source_any(p, one, a->type, &list[n]))
                        return false;
        }
        *ret = list;
        *ret_count = count;
        return true;
}

/* [handle, {x, y}] or [handle, sampler, {x, y}] */
static bool image_address(struct parser *p, const struct operand *o, struct image_access *a)
{
        const struct operand *position;

        if (o->kind != OPERAND_ADDRESS || o->count < 2 || o->count > 3)
                return body_unsupported(p, "line %u: an image address of this form",
                                        p->body.statement->line);
        a->has_sampler = o->count == 3;
        position = &o->elements[o->count - 1];
        if (!body_source_any(p, &o->elements[0], TYPE_U64, &a->handle) ||
            (a->has_sampler && !body_source_any(p, &o->elements[1], TYPE_U64, &a->sampler)))
                return false;
        for (unsigned n = 0; n < a->coordinates; n++) {
                const struct operand *one =
                        position->kind == OPERAND_VECTOR
                                ? (n < position->count ? &position->elements[n] : NULL)
                        : n == 0 ? position
                                 : NULL;

                if (!one)
                        return body_unsupported(p, "line %u: too few coordinates",
                                                p->body.statement->line);
                if (!body_source(p, one, TYPE_B32, &a->coordinate[n]))
                        return false;
        }
        return true;
}

static bool image_emit(struct parser *p, struct image_access *a, const struct operand *values,
                       unsigned mode)
{
        struct slot *list = NULL;
        unsigned count = 0;
        struct insn *i;

        if (!image_values(p, values, mode == IMAGE_STORE, a, &list, &count))
                return false;
        a->bytes = count * type_width(a->type);
        i = body_emit(p, image);
        if (!i)
                return false;
        i->list = list;
        i->count = (uint8_t)count;
        i->mode = (uint8_t)mode;
        i->detail = a;
        return true;
}

static bool decode_tex(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct image_access *a = body_own(p, sizeof *a);
        static const char *const components[] = { "r", "g", "b", "a" };

        if (!a)
                return false;
        if (s->operand_count < 2 || !geometry_find(s, a) || statement_has(s, "grad"))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        a->type = TYPE_B32;
        a->is_integer = statement_type(s, 1) == TYPE_S32;
        a->is_gather = opcode->operands == 1;
        a->has_level = statement_has(s, "level");
        for (unsigned n = 0; n < 4 && a->is_gather; n++)
                if (statement_has(s, components[n]))
                        a->component = n;
        if (!image_address(p, &s->operands[1], a))
                return false;
        if (a->has_level &&
            (s->operand_count < 3 || !body_source(p, &s->operands[2], TYPE_B32, &a->level)))
                return body_unsupported(p, "line %u: %s without its level", s->line, opcode->name);
        return image_emit(p, a, &s->operands[0], IMAGE_FETCH);
}

static bool decode_surface(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        bool is_store = opcode->operands == 1;
        struct image_access *a = body_own(p, sizeof *a);

        if (!a)
                return false;
        a->type = statement_type(s, 0);
        if (s->operand_count != 2 || !geometry_find(s, a) || !type_width(a->type) ||
            type_width(a->type) > 8 || statement_has(s, "p"))
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        a->is_integer = true;
        a->boundary = statement_has(s, "clamp") ? 1 : statement_has(s, "zero") ? 2 : 0;
        if (!image_address(p, &s->operands[is_store ? 0 : 1], a))
                return false;
        return image_emit(p, a, &s->operands[is_store ? 1 : 0],
                          is_store ? IMAGE_STORE : IMAGE_LOAD);
}

static void image_query(struct warp *w, const struct insn *i)
{
        const struct ptx_images *images = w->block->run->launch->images;
        uint32_t mask = w->exec;

        if (!images || !images->query) {
                run_fault(w, PTX_UNSUPPORTED, 0, "texture queries (PTX line %u)", i->line);
                return;
        }
        while (mask) {
                uint32_t l = lane_next(&mask);

                lane_put(w, i->d, l,
                         images->query(images->closure, lane_get(w, i->a, l), i->detail));
        }
}

static bool decode_query(struct parser *p, const struct statement *s, const struct opcode *opcode)
{
        struct slot d, a;
        char *what = body_own(p, 32);
        struct insn *i;

        if (!what)
                return false;
        if (s->operand_count != 2 || s->operands[1].kind != OPERAND_ADDRESS ||
            s->operands[1].count != 1 || !s->suffix_count || s->suffixes[0].length > 31)
                return body_unsupported(p, "line %u: %s of this form", s->line, opcode->name);
        memcpy(what, s->suffixes[0].text, s->suffixes[0].length);
        if (!body_source_any(p, &s->operands[1].elements[0], TYPE_U64, &a) ||
            !body_destination(p, &s->operands[0], TYPE_B32, &d))
                return false;
        i = body_emit(p, image_query);
        if (!i)
                return false;
        i->d = d;
        i->a = a;
        i->detail = what;
        return true;
}

const struct opcode opcodes_texture[] = {
        { "tex", decode_tex, NULL, NULL, 0 },
        { "tld4", decode_tex, NULL, NULL, 1 },
        { "suld", decode_surface, NULL, NULL, 0 },
        { "sust", decode_surface, NULL, NULL, 1 },
        { "txq", decode_query, NULL, NULL, 0 },
        { "suq", decode_query, NULL, NULL, 0 },
        { NULL, NULL, NULL, NULL, 0 },
};
