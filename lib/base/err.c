/* SPDX-License-Identifier: Apache-2.0 */
/* err: writes and prefixes the sentence of an error. */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "str.h"

int err_set(struct err *e, int code, const char *format, ...)
{
        if (!e)
                return code;

        va_list args;
        va_start(args, format);
        vsnprintf(e->text, sizeof e->text, format, args);
        va_end(args);
        str_tame(e->text);
        e->code = code;
        return code;
}

int err_context(struct err *e, int code, const char *context)
{
        if (!e)
                return code;

        char sentence[sizeof e->text];
        memcpy(sentence, e->text, sizeof sentence);
        /* A text that grows too long loses its end, never its context. */
        int length = snprintf(e->text, sizeof e->text, "%s: ", context);
        if (length > 0 && (size_t)length < sizeof e->text)
                snprintf(e->text + length, sizeof e->text - (size_t)length, "%s", sentence);
        str_tame(e->text);
        e->code = code;
        return code;
}
