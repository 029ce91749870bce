/* SPDX-License-Identifier: Apache-2.0 */
/* http2_fields: our fields as nghttp2 wants them. */
#pragma once

#include <nghttp2/nghttp2.h>
#include <string.h>

#include "fields.h"

enum { HTTP2_FIELDS_MOST = 24 };

static inline nghttp2_nv http2_field(const char *name, const char *value)
{
        return (nghttp2_nv){ .name = (uint8_t *)name,
                             .namelen = strlen(name),
                             .value = (uint8_t *)value,
                             .valuelen = strlen(value) };
}

/* Lists them from index `count` on; the new count. They point into `from`. */
static inline size_t http2_fields_list(const struct fields *from,
                                       nghttp2_nv list[static HTTP2_FIELDS_MOST], size_t count)
{
        const char *at = from->bytes.text;
        const char *const end = at + from->bytes.length;

        for (const char *value; at < end && count < HTTP2_FIELDS_MOST;
             at = value + strlen(value) + 1) {
                value = at + strlen(at) + 1;
                list[count++] = http2_field(at, value);
        }
        return count;
}
