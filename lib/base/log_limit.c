/* SPDX-License-Identifier: Apache-2.0 */
/* log_limit: a count per minute; nothing is remembered of the lines themselves. */
#include "log_limit.h"

#include <stdarg.h>
#include <stdio.h>

#include "clock.h"
#include "log.h"

bool log_limit_take(struct log_limit *limit, uint64_t now_ns, uint64_t *ret_hidden)
{
        if (!limit->began_ns || now_ns - limit->began_ns >= LOG_LIMIT_S * NS_PER_S) {
                limit->began_ns = now_ns;
                limit->shown = 0;
        }
        if (limit->shown == LOG_LIMIT_MOST) {
                limit->hidden++;
                return false;
        }
        limit->shown++;
        *ret_hidden = limit->hidden;
        limit->hidden = 0;
        return true;
}

void log_limit_warn(struct log_limit *limit, uint64_t now_ns, const char *format, ...)
{
        char text[512], missing[64] = "";
        uint64_t hidden;
        va_list words;

        if (!log_limit_take(limit, now_ns, &hidden))
                return;
        va_start(words, format);
        vsnprintf(text, sizeof text, format, words);
        va_end(words);
        if (hidden)
                snprintf(missing, sizeof missing, " (%llu like it before were not logged)",
                         (unsigned long long)hidden);
        log_warn("%s%s%s", text, missing,
                 limit->shown == LOG_LIMIT_MOST
                         ? "; similar messages are counted and not logged for a minute"
                         : "");
}
