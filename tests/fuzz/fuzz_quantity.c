/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: quantities as people write them. Whole MiB that are printed read back as the same. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "quantity.h"

const char *const fuzz_words[] = {
        "MiB", "Gi", "Ti", "%", "1.5", "0.", "9223372036854775807", NULL
};

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count);
        char printed[QUANTITY_TEXT_BYTES];
        uint64_t value, again;
        double number;
        unsigned percent;
        struct err e;

        if (quantity_parse_bytes(text, &value, &e) == 0) {
                quantity_format_bytes(value, printed);
                if (value % (1 << 20) == 0 &&
                    (quantity_parse_bytes(printed, &again, &e) < 0 || again != value))
                        abort();
        }
        if (quantity_parse_number(text, "number", 0.5, 100, &number, &e) == 0 &&
            !(number >= 0.5 && number <= 100))
                abort();
        if (quantity_parse_percent(text, "percent", &percent, &e) == 0 &&
            (percent < 1 || percent > 100))
                abort();
        free(text);
}
