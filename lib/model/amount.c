/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes quantities as whole numbers. */
#include "amount.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

typedef unsigned __int128 wide;

/* digits × 10^ten × 2^two */
struct scaled {
        wide digits;
        int ten, two;
        bool is_too_large; /* more digits than a wide holds */
};

static const struct {
        const char *text;
        int ten, two;
} suffixes[] = {
        { "", 0, 0 },    { "n", -9, 0 },  { "u", -6, 0 },  { "m", -3, 0 },
        { "k", 3, 0 },   { "M", 6, 0 },   { "G", 9, 0 },   { "T", 12, 0 },
        { "P", 15, 0 },  { "E", 18, 0 },  { "Ki", 0, 10 }, { "Mi", 0, 20 },
        { "Gi", 0, 30 }, { "Ti", 0, 40 }, { "Pi", 0, 50 }, { "Ei", 0, 60 },
};

static void digit_take(struct scaled *number, char digit)
{
        if (__builtin_mul_overflow(number->digits, (wide)10, &number->digits) ||
            __builtin_add_overflow(number->digits, (wide)(digit - '0'), &number->digits))
                number->is_too_large = true;
}

/* The end of the digits, or NULL: there were none. A fraction's last zeros say nothing. */
static const char *digits_take(const char *text, struct scaled *number)
{
        const char *p = text, *end;
        size_t count = 0;

        for (; isdigit((unsigned char)*p); p++, count++)
                digit_take(number, *p);
        if (*p != '.')
                return count ? p : NULL;
        for (end = p + 1; isdigit((unsigned char)*end); end++)
                count++;
        const char *last = end;

        while (last > p + 1 && last[-1] == '0')
                last--;
        for (p++; p < last; p++, number->ten--)
                digit_take(number, *p);
        return count ? end : NULL;
}

/* "e3", "E-2": false when it is none; then "E" may be a suffix. */
static bool exponent_take(const char *text, struct scaled *number)
{
        bool is_negative = false;
        int exponent = 0;

        if (*text != 'e' && *text != 'E')
                return false;
        text++;
        if (*text == '+' || *text == '-')
                is_negative = *text++ == '-';
        if (!isdigit((unsigned char)*text))
                return false;
        for (; isdigit((unsigned char)*text); text++)
                exponent = exponent > 9999 ? exponent : exponent * 10 + (*text - '0');
        if (*text)
                return false;
        number->ten += is_negative ? -exponent : exponent;
        return true;
}

static bool suffix_take(const char *text, struct scaled *number)
{
        for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
                if (strcmp(text, suffixes[i].text) == 0) {
                        number->ten += suffixes[i].ten;
                        number->two += suffixes[i].two;
                        return true;
                }
        }
        return exponent_take(text, number);
}

/* 0, -ERANGE or -EDOM. */
static int scaled_whole(struct scaled number, int64_t *ret_amount)
{
        wide value = number.digits;

        if (value == 0 && !number.is_too_large) {
                *ret_amount = 0;
                return 0;
        }
        if (number.is_too_large)
                return number.ten < 0 ? -EDOM : -ERANGE;
        if (value > (~(wide)0 >> number.two))
                return -ERANGE;
        value <<= number.two;
        for (; number.ten > 0; number.ten--)
                if (value > INT64_MAX || __builtin_mul_overflow(value, (wide)10, &value))
                        return -ERANGE;
        for (; number.ten < 0; number.ten++, value /= 10)
                if (value % 10)
                        return -EDOM;
        if (value > INT64_MAX)
                return -ERANGE;
        *ret_amount = (int64_t)value;
        return 0;
}

int amount_parse(const char *text, int64_t *ret_amount, struct err *e)
{
        struct scaled number = { 0 };
        const bool is_negative = *text == '-';
        const char *tail = digits_take(text + (is_negative || *text == '+'), &number);

        if (!tail || !suffix_take(tail, &number))
                return err_set(e, -EINVAL, "'%.60s' is not a quantity (examples: 2, 1k, 2000m)",
                               text);
        const int r = scaled_whole(number, ret_amount);

        if (r == -EDOM)
                return err_set(e, r, "'%.60s' is not a whole number", text);
        if (r == -ERANGE)
                return err_set(e, r, "'%.60s' is too large", text);
        if (is_negative && *ret_amount != 0)
                return err_set(e, -EDOM, "'%.60s' is negative", text);
        return 0;
}
