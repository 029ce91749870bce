/* SPDX-License-Identifier: Apache-2.0 */
/* Paths with queries, encoded. */
#include "kube_query.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

static int append_encoded(struct str *to, const char *text)
{
        int r = 0;

        for (; *text && r == 0; text++) {
                if (isalnum((unsigned char)*text) || strchr("-._~", *text))
                        r = str_append_bytes(to, text, 1);
                else
                        r = str_appendf(to, "%%%02X", (uint8_t)*text);
        }
        return r;
}

int kube_query_list(struct str *to, const char *path, const char *query, unsigned page,
                    const char *continuation)
{
        int r = str_appendf(to, "%s?%s%slimit=%u", path, query, *query ? "&" : "", page);

        if (r == 0 && continuation) {
                r = str_append(to, "&continue=");
                if (r == 0)
                        r = append_encoded(to, continuation);
        }
        return r;
}

int kube_query_watch(struct str *to, const char *path, const char *query, unsigned seconds,
                     const char *version)
{
        const int r = str_appendf(to,
                                  "%s?%s%swatch=1&allowWatchBookmarks=true&timeoutSeconds=%u"
                                  "&resourceVersion=",
                                  path, query, *query ? "&" : "", seconds);

        return r == 0 ? append_encoded(to, version) : r;
}
