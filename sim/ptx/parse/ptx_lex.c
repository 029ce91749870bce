/* SPDX-License-Identifier: Apache-2.0 */
/* Splits PTX text into tokens. */
#include "ptx_lex.h"

#include <stdlib.h>
#include <string.h>

void lexer_init(struct lexer *lexer, const char *text, size_t length)
{
        const char *nul = memchr(text, 0, length);

        *lexer = (struct lexer){ .at = text, .end = nul ? nul : text + length, .line = 1 };
        lexer_next(lexer);
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
               c == '$' || c == '%';
}

static int hex_value(char c)
{
        if (is_digit(c))
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}

static void skip_line(struct lexer *lexer)
{
        while (lexer->at < lexer->end && *lexer->at != '\n')
                lexer->at++;
}

static void skip_comment(struct lexer *lexer)
{
        for (lexer->at += 2; lexer->at < lexer->end; lexer->at++) {
                if (*lexer->at == '\n')
                        lexer->line++;
                if (*lexer->at == '*' && lexer->at + 1 < lexer->end && lexer->at[1] == '/') {
                        lexer->at += 2;
                        return;
                }
        }
}

static void skip_blanks(struct lexer *lexer)
{
        while (lexer->at < lexer->end) {
                char c = *lexer->at, d = lexer->at + 1 < lexer->end ? lexer->at[1] : 0;

                if (c == '/' && d == '/')
                        skip_line(lexer);
                else if (c == '/' && d == '*')
                        skip_comment(lexer);
                else if (c == '@' && d == '@') /* old debug lines */
                        skip_line(lexer);
                else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' ||
                         c == '\v') {
                        lexer->line += c == '\n';
                        lexer->at++;
                } else
                        return;
        }
}

static void scan_radix(struct lexer *lexer, uint64_t radix)
{
        uint64_t value = 0;

        for (; lexer->at < lexer->end; lexer->at++) {
                int digit = hex_value(*lexer->at);

                if (digit < 0 || (uint64_t)digit >= radix)
                        break;
                value = value * radix + (uint64_t)digit;
        }
        if (lexer->at < lexer->end && (*lexer->at == 'U' || *lexer->at == 'u'))
                lexer->at++;
        lexer->token.kind = TOKEN_INTEGER;
        lexer->token.bits = value;
}

/* 0f and 0d take exactly eight and sixteen digits. */
static void scan_float_bits(struct lexer *lexer, int digits)
{
        uint64_t bits = 0;

        lexer->at += 2;
        for (int i = 0; i < digits && lexer->at < lexer->end; i++, lexer->at++) {
                int digit = hex_value(*lexer->at);

                if (digit < 0)
                        break;
                bits = bits << 4 | (uint64_t)digit;
        }
        lexer->token.kind = TOKEN_FLOAT;
        lexer->token.bits = bits;
        lexer->token.is_single = digits == 8;
}

static void scan_decimal_float(struct lexer *lexer, size_t length)
{
        char copy[64];
        double value;

        if (length >= sizeof copy)
                length = sizeof copy - 1;
        memcpy(copy, lexer->at, length);
        copy[length] = 0;
        value = strtod(copy, NULL);
        lexer->at += length;
        lexer->token.kind = TOKEN_FLOAT;
        memcpy(&lexer->token.bits, &value, sizeof value);
}

/* How long the number is if it has a fraction or an exponent, else 0. */
static size_t decimal_float_length(const struct lexer *lexer)
{
        const char *p = lexer->at;
        bool is_float = false;

        while (p < lexer->end && is_digit(*p))
                p++;
        if (p + 1 < lexer->end && *p == '.' && is_digit(p[1])) {
                is_float = true;
                for (p++; p < lexer->end && is_digit(*p);)
                        p++;
        }
        if (p + 1 < lexer->end && (*p == 'e' || *p == 'E') &&
            (is_digit(p[1]) ||
             (p + 2 < lexer->end && (p[1] == '-' || p[1] == '+') && is_digit(p[2])))) {
                is_float = true;
                for (p += 2; p < lexer->end && is_digit(*p);)
                        p++;
        }
        return is_float ? (size_t)(p - lexer->at) : 0;
}

static void scan_number(struct lexer *lexer)
{
        char kind = lexer->at + 1 < lexer->end ? lexer->at[1] : 0;
        size_t length;

        if (*lexer->at == '0' && (kind == 'x' || kind == 'X')) {
                lexer->at += 2;
                scan_radix(lexer, 16);
        } else if (*lexer->at == '0' && (kind == 'b' || kind == 'B')) {
                lexer->at += 2;
                scan_radix(lexer, 2);
        } else if (*lexer->at == '0' && (kind == 'f' || kind == 'F'))
                scan_float_bits(lexer, 8);
        else if (*lexer->at == '0' && (kind == 'd' || kind == 'D'))
                scan_float_bits(lexer, 16);
        else if ((length = decimal_float_length(lexer)))
                scan_decimal_float(lexer, length);
        else
                scan_radix(lexer, *lexer->at == '0' && is_digit(kind) ? 8 : 10);
}

static void scan_string(struct lexer *lexer)
{
        const char *start = ++lexer->at;

        while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n')
                lexer->at++;
        lexer->token.kind = TOKEN_STRING;
        lexer->token.text = start;
        lexer->token.length = (size_t)(lexer->at - start);
        if (lexer->at < lexer->end && *lexer->at == '"')
                lexer->at++;
}

static void scan_name(struct lexer *lexer, enum token_kind kind)
{
        const char *start = lexer->at;

        while (lexer->at < lexer->end) {
                if (is_name(*lexer->at))
                        lexer->at++;
                else if (kind == TOKEN_SUFFIX && lexer->at + 2 < lexer->end &&
                         lexer->at[0] == ':' && lexer->at[1] == ':' && is_name(lexer->at[2]))
                        lexer->at += 2;
                else
                        break;
        }
        lexer->token.kind = kind;
        lexer->token.text = start;
        lexer->token.length = (size_t)(lexer->at - start);
}

void lexer_next(struct lexer *lexer)
{
        const char *start;

        skip_blanks(lexer);
        start = lexer->at;
        lexer->token = (struct token){ .kind = TOKEN_END, .text = start, .line = lexer->line };
        if (start >= lexer->end)
                return;
        if (*start == '"') {
                scan_string(lexer);
                return;
        }
        if (*start == '.' && start + 1 < lexer->end && is_name(start[1])) {
                lexer->at++;
                scan_name(lexer, TOKEN_SUFFIX);
                return;
        }
        if (is_digit(*start))
                scan_number(lexer);
        else if (is_name(*start))
                scan_name(lexer, TOKEN_NAME);
        else {
                lexer->at++;
                lexer->token.kind = TOKEN_MARK;
        }
        lexer->token.length = (size_t)(lexer->at - start);
}

bool token_is(const struct token *token, const char *text)
{
        return (token->kind == TOKEN_NAME || token->kind == TOKEN_MARK) &&
               strlen(text) == token->length && memcmp(token->text, text, token->length) == 0;
}

bool token_is_suffix(const struct token *token, const char *text)
{
        return token->kind == TOKEN_SUFFIX && strlen(text) == token->length &&
               memcmp(token->text, text, token->length) == 0;
}
