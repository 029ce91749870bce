/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what is sent to the scheduler's verbs. Names that are cut out are among the bytes. */
#include <stdlib.h>

#include "args.h"
#include "fuzz.h"

const char *const fuzz_words[] = { "{\"Pod\":{", "}",      "\"NodeNames\":[",
                                   "\"a\",",     "\"b\"]", "\\\"",
                                   "null,",      ":",      NULL };

void fuzz_one(const uint8_t *bytes, size_t count)
{
        const char *text = (const char *)bytes, *at, *name;
        struct err e;
        struct args args;
        size_t length;

        if (args_read(text, count, (const char *const[]){ "a", NULL }, &args, &e) < 0)
                return;
        at = args.names;
        while (args_next(&args, &at, &name, &length))
                if (name < text || name + length > text + count)
                        abort();
        args_done(&args);
}
