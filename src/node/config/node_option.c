/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of options. */
#include "node_option.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "quantity.h"

enum { OPTION_TEXT = 48 };

/* "--device-split-count": by this name sentences speak of it, also where a file says it. */
static const char *option_text(const struct node_option *row, char text[static OPTION_TEXT])
{
        snprintf(text, OPTION_TEXT, "--%s", row->option.name);
        return text;
}

static void *target_of(struct node_options *options, const struct node_option *row)
{
        return (char *)options + row->target;
}

int option_take_flag(struct node_options *options, const struct node_option *row, const char *value,
                     struct err *e)
{
        (void)value;
        (void)e;
        *(bool *)target_of(options, row) = true;
        return 0;
}

/* The index of the value among the words that the row offers. */
static int value_find(const struct node_option *row, const char *value, unsigned *ret_index,
                      struct err *e)
{
        const char *words = row->option.completion;
        unsigned index = 0;

        for (const char *at = words; *at; index++) {
                const size_t length = strcspn(at, " ");

                if (strlen(value) == length && strncmp(at, value, length) == 0) {
                        *ret_index = index;
                        return 0;
                }
                at += length + strspn(at + length, " ");
        }
        return err_set(e, -EINVAL, "--%s: invalid value '%.60s' (expected one of: %s)",
                       row->option.name, value, words);
}

int option_take_truth(struct node_options *options, const struct node_option *row,
                      const char *value, struct err *e)
{
        unsigned index = 0;
        const int r = value_find(row, value, &index, e);

        if (r == 0)
                *(bool *)target_of(options, row) = index == row->yes;
        return r;
}

int option_take_choice(struct node_options *options, const struct node_option *row,
                       const char *value, struct err *e)
{
        unsigned index = row->most;
        const bool is_alias = row->alias && strcmp(value, row->alias) == 0;
        const int r = is_alias ? 0 : value_find(row, value, &index, e);

        if (r == 0)
                *(unsigned *)target_of(options, row) = index;
        return r;
}

static int whole_parse(const struct node_option *row, const char *value, unsigned *ret_number,
                       struct err *e)
{
        char name[OPTION_TEXT];
        uint64_t number;
        const int r = quantity_parse_whole(value, option_text(row, name), 1, row->most, &number, e);

        if (r == 0)
                *ret_number = (unsigned)number;
        return r;
}

int option_take_whole(struct node_options *options, const struct node_option *row,
                      const char *value, struct err *e)
{
        return whole_parse(row, value, target_of(options, row), e);
}

int option_take_seconds(struct node_options *options, const struct node_option *row,
                        const char *value, struct err *e)
{
        unsigned seconds;
        const int r = whole_parse(row, value, &seconds, e);

        if (r == 0)
                *(unsigned *)target_of(options, row) = seconds * 1000;
        return r;
}

int option_take_scaling(struct node_options *options, const struct node_option *row,
                        const char *value, struct err *e)
{
        char name[OPTION_TEXT];

        return quantity_parse_number(value, option_text(row, name), 1, 100, target_of(options, row),
                                     e);
}

int option_take_bytes(struct node_options *options, const struct node_option *row,
                      const char *value, struct err *e)
{
        char name[OPTION_TEXT];

        return quantity_parse_bytes(value, target_of(options, row), e) < 0
                       ? err_context(e, -EINVAL, option_text(row, name))
                       : 0;
}

int option_take_address(struct node_options *options, const struct node_option *row,
                        const char *value, struct err *e)
{
        char name[OPTION_TEXT];
        const int r = address_parse(value, target_of(options, row), e);

        return r < 0 ? err_context(e, r, option_text(row, name)) : 0;
}

int option_take_text(struct node_options *options, const struct node_option *row, const char *value,
                     struct err *e)
{
        (void)e;
        *(const char **)target_of(options, row) = value;
        return 0;
}
