/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of options, and the kinds that every program may have. */
#include "option_row.h"

#include <errno.h>
#include <string.h>

enum { LIST_BYTES = 128 };

int option_row_take(void *options, const struct option_row *row, const char *value, struct err *e)
{
        if (!row->take)
                return err_set(e, -EINVAL, "internal error: option '--%s' has no kind",
                               row->option.name);
        return row->take(options, row, value, e);
}

void *option_row_target(void *options, const struct option_row *row)
{
        return (char *)options + row->target;
}

void option_rows_copy(const struct option_row *rows, size_t count, struct cli_option *ret_rows)
{
        for (size_t i = 0; i < count; i++)
                ret_rows[i] = rows[i].option;
        ret_rows[count] = (struct cli_option){ 0 };
}

int option_take_flag(void *options, const struct option_row *row, const char *value, struct err *e)
{
        (void)value;
        (void)e;
        *(bool *)option_row_target(options, row) = true;
        return 0;
}

/* "none, single or mixed" */
static const char *words_list(const char *words, char text[static LIST_BYTES])
{
        const char *last = strrchr(words, ' ');
        char *end = text;

        for (; *words && end < text + LIST_BYTES - sizeof " or "; words++)
                if (*words == ' ')
                        end = stpcpy(end, words == last ? " or " : ", ");
                else
                        *end++ = *words;
        *end = '\0';
        return text;
}

/* The index of the value among the words that the row offers. */
static int word_find(const struct option_row *row, const char *value, unsigned *ret_index,
                     struct err *e)
{
        const char *words = row->option.completion;
        unsigned index = 0;
        char list[LIST_BYTES];

        for (const char *at = words; *at; index++) {
                const size_t length = strcspn(at, " ");

                if (strlen(value) == length && strncmp(at, value, length) == 0) {
                        *ret_index = index;
                        return 0;
                }
                at += length + strspn(at + length, " ");
        }
        return err_set(e, -EINVAL, "invalid value '%.60s' of --%s (expected %s)", value,
                       row->option.name, words_list(words, list));
}

int option_take_truth(void *options, const struct option_row *row, const char *value, struct err *e)
{
        unsigned index = 0;
        const int r = word_find(row, value, &index, e);

        if (r == 0)
                *(bool *)option_row_target(options, row) = index == row->yes;
        return r;
}

int option_take_choice(void *options, const struct option_row *row, const char *value,
                       struct err *e)
{
        unsigned index = row->most;
        const bool is_alias = row->alias && strcmp(value, row->alias) == 0;
        const int r = is_alias ? 0 : word_find(row, value, &index, e);

        if (r == 0)
                *(unsigned *)option_row_target(options, row) = index;
        return r;
}

int option_take_text(void *options, const struct option_row *row, const char *value, struct err *e)
{
        (void)e;
        *(const char **)option_row_target(options, row) = value;
        return 0;
}
