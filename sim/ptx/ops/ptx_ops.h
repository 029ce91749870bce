/* SPDX-License-Identifier: Apache-2.0 */
/* How a handler is written: one expression, applied to the lanes that execute. */
#pragma once

#include "ptx_build.h"
#include "ptx_warp.h"

/* No iteration depends on another's: gcc is told, clang has no pragma for it that does not promise more. */
#ifdef __clang__
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* A full warp takes the loop that the compiler can vectorise: rows either are the same row or do
 * not overlap. */
#define LANEWISE(w, ...)                                                 \
        do {                                                             \
                uint32_t mask_ = (w)->exec;                              \
                if (mask_ == ALL_LANES) {                                \
                        INDEPENDENT for (uint32_t l = 0; l < LANES; l++) \
                        {                                                \
                                __VA_ARGS__;                             \
                        }                                                \
                } else                                                   \
                        while (mask_) {                                  \
                                uint32_t l = lane_next(&mask_);          \
                                __VA_ARGS__;                             \
                        }                                                \
        } while (0)

#define UNARY(name, R, T, ...)                                    \
        static void name(struct warp *w, const struct insn *i)    \
        {                                                         \
                R *d = row(w, i->d);                              \
                const T *a = row(w, i->a);                        \
                LANEWISE(w, T x = a[l]; d[l] = (R)(__VA_ARGS__)); \
        }

#define BINARY2(name, R, T, U, ...)                                           \
        static void name(struct warp *w, const struct insn *i)                \
        {                                                                     \
                R *d = row(w, i->d);                                          \
                const T *a = row(w, i->a);                                    \
                const U *b = row(w, i->b);                                    \
                LANEWISE(w, T x = a[l]; U y = b[l]; d[l] = (R)(__VA_ARGS__)); \
        }

#define BINARY(name, T, ...) BINARY2(name, T, T, T, __VA_ARGS__)

#define TERNARY2(name, R, T, U, V, ...)                                                   \
        static void name(struct warp *w, const struct insn *i)                            \
        {                                                                                 \
                R *d = row(w, i->d);                                                      \
                const T *a = row(w, i->a);                                                \
                const U *b = row(w, i->b);                                                \
                const V *c = row(w, i->c);                                                \
                LANEWISE(w, T x = a[l]; U y = b[l]; V z = c[l]; d[l] = (R)(__VA_ARGS__)); \
        }

#define TERNARY(name, T, ...) TERNARY2(name, T, T, T, T, __VA_ARGS__)

/* d, a, b, c all of one type: the decoder most rows use. */
bool decode_uniform(struct parser *p, const struct statement *s, const struct opcode *opcode);

/* Families that share opcodes with the integers. */
bool decode_float(struct parser *p, const struct statement *s, const struct opcode *opcode);
bool decode_half(struct parser *p, const struct statement *s, const struct opcode *opcode);
bool decode_carry(struct parser *p, const struct statement *s, const struct opcode *opcode);

enum space space_find(const struct statement *s);

/* Operands by a text: d first, then the sources; b = of the instruction's type, u = .u32. */
bool decode_shaped(struct parser *p, const struct statement *s, handler *run, const char *shape);
struct insn *body_last(struct parser *p); /* the instruction emitted last */
/* The members a .sync instruction names: the union over the lanes, each may name its own group. */
uint32_t members_read(const struct warp *w, const struct insn *i);
