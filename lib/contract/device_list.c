/* SPDX-License-Identifier: Apache-2.0 */
/* device_list: judged by its letters alone. */
#include "device_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char digits[] = "0123456789";

static bool is_only(const char *text, size_t length, const char *letters)
{
        return length && strspn(text, letters) >= length;
}

static bool is_uuid(const char *text, size_t length)
{
        return length > 4 && (!strncasecmp(text, "GPU-", 4) || !strncasecmp(text, "MIG-", 4)) &&
               is_only(text, length,
                       "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-/");
}

/* "nvidia.com/gpu=0" */
static bool is_cdi_name(const char *text, size_t length)
{
        const char *slash = memchr(text, '/', length), *equals = memchr(text, '=', length);

        if (!slash || !equals || equals < slash)
                return false;
        length -= (size_t)(++equals - text);
        return is_only(equals, length, digits) || (length == 3 && !strncmp(equals, "all", 3));
}

static enum device_list name_kind(const char *text, size_t length)
{
        for (; length && (*text == ' ' || *text == '\t'); length--)
                text++;
        while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
                length--;
        if (is_uuid(text, length))
                return DEVICE_LIST_UUIDS;
        return is_only(text, length, digits) || is_cdi_name(text, length) ? DEVICE_LIST_NUMBERS
                                                                          : DEVICE_LIST_OTHER;
}

enum device_list device_list_kind(const char *text)
{
        enum device_list kind = DEVICE_LIST_EMPTY;

        if (!strcmp(text, "all") || !strcmp(text, "none") || !strcmp(text, "void"))
                return DEVICE_LIST_WORD;
        while (*text) {
                const size_t length = strcspn(text, ",");
                const enum device_list own = name_kind(text, length);

                if (kind != DEVICE_LIST_EMPTY && kind != own)
                        return DEVICE_LIST_OTHER;
                kind = own;
                text += length + (text[length] == ',');
        }
        return kind;
}
