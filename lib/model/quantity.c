/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities as people write them: sizes, percentages, spans of time. */
#include "quantity.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits with at most one point; locale-free, so that "1.5g" means the same everywhere. */
struct decimal {
        uint64_t whole;
        double fraction;
        size_t length; /* characters read; 0: no number here */
        int is_too_large;
        int is_above_zero; /* whatever the fraction has become */
};

static struct decimal decimal_read(const char *text)
{
        struct decimal decimal = { 0 };
        size_t digits = 0;
        double weight = 0.1;
        const char *p = text;

        for (; isdigit((unsigned char)*p); p++, digits++) {
                decimal.is_above_zero |= *p != '0';
                if (__builtin_mul_overflow(decimal.whole, 10u, &decimal.whole) ||
                    __builtin_add_overflow(decimal.whole, (uint64_t)(*p - '0'), &decimal.whole))
                        decimal.is_too_large = 1;
        }
        if (*p == '.') {
                p++;
                for (; isdigit((unsigned char)*p); p++, digits++, weight /= 10) {
                        decimal.is_above_zero |= *p != '0';
                        decimal.fraction += (*p - '0') * weight;
                }
        }
        decimal.length = digits ? (size_t)(p - text) : 0;
        return decimal;
}

/* The power of 1024 that a suffix stands for, or -1. */
static int unit_shift(const char *unit)
{
        static const char letters[] = "kmgt";
        const char *letter;

        if (*unit == '\0' || strcmp(unit, "B") == 0 || strcmp(unit, "b") == 0)
                return 0;
        letter = strchr(letters, tolower((unsigned char)*unit));
        if (!letter)
                return -1;
        unit++;
        if (*unit == 'i')
                unit += unit[1] == 'B' ? 2 : 1;
        return *unit == '\0' ? (int)(letter - letters + 1) * 10 : -1;
}

int quantity_parse_bytes(const char *text, uint64_t *ret_bytes, struct err *e)
{
        const struct decimal decimal = decimal_read(text);
        const char *unit = text + decimal.length;
        uint64_t bytes;
        int shift;

        if (decimal.length == 0)
                return err_set(e, -EINVAL, "'%.60s' is not a size (examples: 300Mi, 1.5g, 4096)",
                               text);
        shift = unit_shift(unit);
        if (shift < 0)
                return err_set(e, -EINVAL,
                               "'%.60s' has the unknown unit '%.20s' (units: k m g t, "
                               "Ki Mi Gi Ti; all are powers of 1024)",
                               text, unit);
        if (shift == 0 && decimal.fraction > 0)
                return err_set(e, -EINVAL, "'%.60s' is not a whole number of bytes", text);
        if (decimal.is_too_large || decimal.whole >= (UINT64_C(1) << (63 - shift)))
                return err_set(e, -ERANGE, "'%.60s' is too large", text);
        bytes = (decimal.whole << shift) +
                (uint64_t)(decimal.fraction * (double)(UINT64_C(1) << shift));
        /* 0 means no limit to most who ask: nothing else may become it. */
        if (bytes == 0 && decimal.is_above_zero)
                return err_set(e, -EINVAL, "'%.60s' is less than one byte", text);
        *ret_bytes = bytes;
        return 0;
}

int quantity_parse_number(const char *text, const char *what, double least, double most,
                          double *ret_number, struct err *e)
{
        const struct decimal decimal = decimal_read(text);
        const double number = (double)decimal.whole + decimal.fraction;

        if (decimal.length == 0 || text[decimal.length] != '\0')
                return err_set(e, -EINVAL, "%s must be a number of 0 or more, not '%.60s'", what,
                               text);
        if (decimal.is_too_large || number < least || number > most)
                return err_set(e, -ERANGE, "%s must be from %g to %g, not %.60s", what, least, most,
                               text);
        *ret_number = number;
        return 0;
}

int quantity_parse_whole(const char *text, const char *what, uint64_t least, uint64_t most,
                         uint64_t *ret_number, struct err *e)
{
        const struct decimal decimal = decimal_read(text);

        if (decimal.length == 0 || text[decimal.length] != '\0' || strchr(text, '.'))
                return err_set(e, -EINVAL, "%s must be a whole number of 0 or more, not '%.60s'",
                               what, text);
        if (decimal.is_too_large || decimal.whole < least || decimal.whole > most)
                return err_set(e, -ERANGE, "%s must be from %" PRIu64 " to %" PRIu64 ", not %.60s",
                               what, least, most, text);
        *ret_number = decimal.whole;
        return 0;
}

int quantity_parse_percent(const char *text, const char *what, unsigned *ret_percent, struct err *e)
{
        char digits[8];
        const size_t length = strcspn(text, "%");
        uint64_t percent = 0;
        int r;

        if (length >= sizeof digits || (text[length] != '\0' && text[length + 1] != '\0'))
                return err_set(e, -EINVAL, "%s must be a percentage from 1 to 100, not '%.60s'",
                               what, text);
        memcpy(digits, text, length);
        digits[length] = '\0';
        r = quantity_parse_whole(digits, what, 1, 100, &percent, NULL);
        if (r < 0)
                return err_set(e, r, "%s must be a percentage from 1 to 100, not '%.60s'", what,
                               text);
        *ret_percent = (unsigned)percent;
        return 0;
}

int quantity_parse_cap(const char *text, const char *what, unsigned *ret_percent, struct err *e)
{
        int r = 0;

        if (strcmp(text, "0") == 0 || strcmp(text, "0%") == 0)
                *ret_percent = 0;
        else
                r = quantity_parse_percent(text, what, ret_percent, NULL);
        return r < 0 ? err_set(e, r,
                               "%s must be 0 (no limit) or a percentage up to 100, not '%.60s'",
                               what, text)
                     : 0;
}

void quantity_format_bytes(uint64_t bytes, char text[static QUANTITY_TEXT_BYTES])
{
        static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
        unsigned shift = 0;

        while (shift < 4 && bytes >> (shift * 10 + 10))
                shift++;
        /* GPUs hold odd numbers of MiB: 81559MiB says more than 79.6GiB. */
        if (shift > 2 && bytes & ((UINT64_C(1) << (shift * 10)) - 1))
                shift = 2;
        if (bytes & ((UINT64_C(1) << (shift * 10)) - 1))
                snprintf(text, QUANTITY_TEXT_BYTES, "%.1f%s",
                         (double)bytes / (double)(UINT64_C(1) << (shift * 10)), units[shift]);
        else
                snprintf(text, QUANTITY_TEXT_BYTES, "%" PRIu64 "%s", bytes >> (shift * 10),
                         units[shift]);
}
