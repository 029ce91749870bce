/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of vgpu-node's options. */
#include "node_option.h"

#include <errno.h>
#include <stdio.h>

#include "quantity.h"

enum { OPTION_TEXT = 48 };

/* "--device-split-count": by this name sentences speak of it, also where a file says it. */
static const char *option_text(const struct option_row *row, char text[static OPTION_TEXT])
{
        snprintf(text, OPTION_TEXT, "--%s", row->option.name);
        return text;
}

static int whole_parse(const struct option_row *row, const char *value, unsigned *ret_number,
                       struct err *e)
{
        char name[OPTION_TEXT];
        uint64_t number;
        const int r = quantity_parse_whole(value, option_text(row, name), 1, row->most, &number, e);

        if (r == 0)
                *ret_number = (unsigned)number;
        return r;
}

int option_take_whole(void *options, const struct option_row *row, const char *value, struct err *e)
{
        return whole_parse(row, value, option_row_target(options, row), e);
}

int option_take_seconds(void *options, const struct option_row *row, const char *value,
                        struct err *e)
{
        unsigned seconds;
        const int r = whole_parse(row, value, &seconds, e);

        if (r == 0)
                *(unsigned *)option_row_target(options, row) = seconds * 1000;
        return r;
}

int option_take_scaling(void *options, const struct option_row *row, const char *value,
                        struct err *e)
{
        char name[OPTION_TEXT];

        return quantity_parse_number(value, option_text(row, name), 1, 100,
                                     option_row_target(options, row), e);
}

int option_take_bytes(void *options, const struct option_row *row, const char *value, struct err *e)
{
        char name[OPTION_TEXT];

        return quantity_parse_bytes(value, option_row_target(options, row), e) < 0
                       ? err_context(e, -EINVAL, option_text(row, name))
                       : 0;
}

int option_take_address(void *options, const struct option_row *row, const char *value,
                        struct err *e)
{
        char name[OPTION_TEXT];
        const int r = address_parse(value, option_row_target(options, row), e);

        return r < 0 ? err_context(e, r, option_text(row, name)) : 0;
}
