/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as text. */
#include "metric_text.h"

#include <inttypes.h>
#include <math.h>

int metric_head(struct str *out, const char *name, enum metric_type type, const char *help)
{
        return str_appendf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                           type == METRIC_COUNTER ? "counter" : "gauge");
}

/* Bytes of the UTF-8 character at `at`, 0: it is none. */
static size_t character_bytes(const unsigned char *at)
{
        const unsigned char lead = at[0];
        const size_t count = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;

        for (size_t i = 1; i < count; i++)
                if ((at[i] & 0xc0) != 0x80)
                        return 0;
        /* Longer than need be, half of a pair, beyond the last. */
        if ((lead == 0xe0 && at[1] < 0xa0) || (lead == 0xed && at[1] >= 0xa0) ||
            (lead == 0xf0 && at[1] < 0x90) || (lead == 0xf4 && at[1] >= 0x90))
                return 0;
        return count;
}

static int value_append(struct str *out, const char *value)
{
        int r = 0;

        for (const unsigned char *at = (const unsigned char *)value; *at && r == 0;) {
                const size_t count = character_bytes(at);

                if (*at == '\\' || *at == '"')
                        r = str_appendf(out, "\\%c", *at);
                else if (*at == '\n')
                        r = str_append(out, "\\n");
                else
                        r = count ? str_append_bytes(out, (const char *)at, count)
                                  : str_append(out, "?");
                at += count ? count : 1;
        }
        return r;
}

static int labels_append(struct str *out, const struct metric_label *labels)
{
        const char *before = "{";
        int r = 0;

        for (; labels && labels->name && r == 0; labels++) {
                if (!labels->value || !*labels->value)
                        continue;
                r = str_appendf(out, "%s%s=\"", before, labels->name);
                if (r == 0)
                        r = value_append(out, labels->value);
                if (r == 0)
                        r = str_append(out, "\"");
                before = ",";
        }
        return r == 0 && *before == ',' ? str_append(out, "}") : r;
}

static int number_append(struct str *out, double value)
{
        if (isnan(value))
                return str_append(out, " NaN\n");
        if (isinf(value))
                return str_append(out, value > 0 ? " +Inf\n" : " -Inf\n");
        /* Bytes and counts whole, as people know them; the rest to the nanosecond. */
        return value > -1e15 && value < 1e15 && value == (double)(int64_t)value
                       ? str_appendf(out, " %" PRId64 "\n", (int64_t)value)
                       : str_appendf(out, " %.12g\n", value);
}

int metric_sample(struct str *out, const char *name, const struct metric_label *labels,
                  double value)
{
        int r = str_append(out, name);

        if (r == 0)
                r = labels_append(out, labels);
        return r == 0 ? number_append(out, value) : r;
}
