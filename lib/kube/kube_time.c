/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the API server: UTC, to the microsecond. */
#include "kube_time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { US_PER_S = 1000000, DIGITS = 6 };

/* The digits behind the point as microseconds; moves past them. */
static int64_t fraction_take(const char **text)
{
        int64_t us = 0;
        int digits = 0;

        for (; **text >= '0' && **text <= '9'; (*text)++)
                if (digits < DIGITS) {
                        us = us * 10 + (**text - '0');
                        digits++;
                }
        for (; digits < DIGITS; digits++)
                us *= 10;
        return us;
}

int kube_time_parse(const char *text, int64_t *ret_us)
{
        struct tm parts = { 0 };
        const char *tail = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
        int64_t us = 0;

        if (!tail)
                return -EINVAL;
        if (*tail == '.') {
                tail++;
                us = fraction_take(&tail);
        }
        if (tail[0] != 'Z' || tail[1] != '\0')
                return -EINVAL;
        *ret_us = (int64_t)timegm(&parts) * US_PER_S + us;
        return 0;
}

static void format(int64_t us, const char *form, char text[static KUBE_TIME_TEXT])
{
        const time_t seconds = (time_t)(us / US_PER_S);
        struct tm parts;

        strftime(text, KUBE_TIME_TEXT, form, gmtime_r(&seconds, &parts));
}

void kube_time_format_us(int64_t us, char text[static KUBE_TIME_TEXT])
{
        char whole[KUBE_TIME_TEXT];

        format(us, "%Y-%m-%dT%H:%M:%S", whole);
        snprintf(text, KUBE_TIME_TEXT, "%.20s.%06" PRId64 "Z", whole, us % US_PER_S);
}

void kube_time_format_s(int64_t us, char text[static KUBE_TIME_TEXT])
{
        format(us, "%Y-%m-%dT%H:%M:%SZ", text);
}

int64_t kube_time_now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}
