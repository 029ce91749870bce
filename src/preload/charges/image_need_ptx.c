/* SPDX-License-Identifier: Apache-2.0 */
/* image_need: PTX, as far as the variables of a module go: statements outside functions that say
 * `.global`. What is not understood counts as nothing. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "image_need.h"

/* Behind blanks and comments. */
static const char *blanks_skip(const char *at)
{
        for (;;) {
                const char *const before = at;

                while (isspace((unsigned char)*at))
                        at++;
                if (strncmp(at, "//", 2) == 0)
                        at += strcspn(at, "\n");
                if (strncmp(at, "/*", 2) == 0) {
                        const char *end = strstr(at + 2, "*/");
                        at = end ? end + 2 : at + strlen(at);
                }
                if (at == before)
                        return at;
        }
}

static bool is_token(char c)
{
        return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

/* The token there, if any; the position behind it and what follows blank. */
static const char *token_take(const char *at, const char **ret_token, size_t *ret_length)
{
        *ret_token = at;
        while (is_token(*at))
                at++;
        *ret_length = (size_t)(at - *ret_token);
        return blanks_skip(at);
}

static bool token_is(const char *token, size_t length, const char *text)
{
        return strlen(text) == length && memcmp(token, text, length) == 0;
}

static const char *number_take(const char *at, uint64_t *ret_number)
{
        uint64_t number = 0;

        while (isdigit((unsigned char)*at) && number < IMAGE_NEED_MOST)
                number = number * 10 + (uint64_t)(*at++ - '0');
        *ret_number = number;
        while (is_token(*at)) /* 4U */
                at++;
        return blanks_skip(at);
}

/* Bytes of a fundamental type: ".b8", ".f64"; 0: it is none. */
static uint64_t type_bytes(const char *token, size_t length)
{
        uint64_t bits;

        if (length < 3 || token[0] != '.' || !strchr("busf", token[1]) ||
            !isdigit((unsigned char)token[2]))
                return 0;
        number_take(token + 2, &bits);
        return bits <= 128 ? bits / 8 : 0;
}

/* The dimensions behind a name: "[4][100]". */
static const char *count_take(const char *at, uint64_t *ret_count)
{
        uint64_t count = 1, number;

        while (*at == '[') {
                at = number_take(blanks_skip(at + 1), &number);
                if (*at != ']')
                        number = 0;
                if (number && count > IMAGE_NEED_MOST / number)
                        number = 0;
                count *= number;
                at += *at == ']';
                at = blanks_skip(at);
        }
        *ret_count = count;
        return at;
}

struct variables {
        uint64_t element_bytes, sum;
        bool is_extern, is_managed;
        const struct image_query *query;
};

static void name_tell(const struct variables *variables, const char *name, size_t length)
{
        char text[IMAGE_NAME];

        if (!variables->is_managed || variables->is_extern || !variables->query ||
            length >= sizeof text)
                return;
        memcpy(text, name, length);
        text[length] = '\0';
        variables->query->visit(text, variables->query->user);
}

/* What follows `.global`, up to a comma, a value or the end. */
static const char *variable_take(const char *at, struct variables *variables)
{
        while (is_token(*at)) {
                const char *token;
                size_t length;
                uint64_t count;

                at = token_take(at, &token, &length);
                if (token_is(token, length, ".align")) {
                        at = number_take(at, &count);
                } else if (token_is(token, length, ".attribute")) {
                        const size_t inner = strcspn(at, ")");

                        variables->is_managed |= memmem(at, inner, "managed", 7) != NULL;
                        at = blanks_skip(at + inner + (at[inner] == ')'));
                } else if (token_is(token, length, ".v2") || token_is(token, length, ".v4")) {
                        variables->element_bytes = (uint64_t)(token[2] - '0');
                } else if (token[0] == '.') {
                        variables->element_bytes *= type_bytes(token, length);
                } else {
                        name_tell(variables, token, length);
                        at = count_take(at, &count);
                        if (count < IMAGE_NEED_MOST)
                                variables->sum += variables->element_bytes * count;
                }
        }
        return at;
}

/* To the end of a statement: what is in braces or quotes belongs to it. */
static const char *statement_skip(const char *at)
{
        unsigned depth = 0;

        for (; *at; at = blanks_skip(at)) {
                const char c = *at++;

                if (c == '"')
                        at += strcspn(at, "\"") + (at[strcspn(at, "\"")] == '"');
                depth += c == '{';
                if (c == '}' && depth > 0 && --depth == 0 && *blanks_skip(at) != ';')
                        return at;
                if (c == ';' && depth == 0)
                        return at;
        }
        return at;
}

static uint64_t statement_need(const char *at, const struct image_query *query)
{
        struct variables variables = { .element_bytes = 1, .query = query };
        const char *token;
        size_t length;

        do {
                at = token_take(at, &token, &length);
                variables.is_extern |= token_is(token, length, ".extern");
        } while (token_is(token, length, ".extern") || token_is(token, length, ".visible") ||
                 token_is(token, length, ".weak") || token_is(token, length, ".common"));
        if (!token_is(token, length, ".global"))
                return 0;
        at = variable_take(at, &variables);
        while (*at == ',')
                at = variable_take(blanks_skip(at + 1), &variables);
        return variables.is_extern || variables.is_managed ? 0 : variables.sum;
}

uint64_t image_need_ptx(const char *text, const struct image_query *query)
{
        const char *at = blanks_skip(text);
        uint64_t sum = 0;

        if (strncmp(at, ".version", 8) != 0)
                return 0;
        while (*at) {
                const char *const line = at;

                /* Directives of a line of their own, without an end. */
                if (strncmp(at, ".version", 8) == 0 || strncmp(at, ".target", 7) == 0 ||
                    strncmp(at, ".address_size", 13) == 0 || strncmp(at, ".file", 5) == 0) {
                        at = blanks_skip(at + strcspn(at, "\n"));
                        continue;
                }
                const uint64_t need = statement_need(line, query);
                if (sum < IMAGE_NEED_MOST)
                        sum += need;
                at = blanks_skip(statement_skip(at));
        }
        return sum;
}
