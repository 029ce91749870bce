/* SPDX-License-Identifier: Apache-2.0 */
/* Splits PTX text into tokens; never fails, an unexpected byte becomes a token of its own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
        TOKEN_END,
        TOKEN_NAME,   /* add  %r1  $L__BB0_2 */
        TOKEN_SUFFIX, /* .global  .shared::cta, text without the dot */
        TOKEN_INTEGER,
        TOKEN_FLOAT,  /* 0f3F800000: `bits` holds the single; 0d…, 1.5: the double */
        TOKEN_STRING, /* text without the quotes */
        TOKEN_MARK,   /* one character */
};

struct token {
        enum token_kind kind;
        const char *text;
        size_t length;
        uint64_t bits;
        bool is_single; /* of a float: 32 bits were given */
        uint32_t line;
};

struct lexer {
        const char *at, *end;
        uint32_t line;
        struct token token; /* the current one */
};

void lexer_init(struct lexer *lexer, const char *text, size_t length);
void lexer_next(struct lexer *lexer);
bool token_is(const struct token *token, const char *text); /* name, or mark */
bool token_is_suffix(const struct token *token, const char *text);
