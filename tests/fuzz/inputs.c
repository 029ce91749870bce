/* SPDX-License-Identifier: Apache-2.0 */
/* inputs: files of inputs. */
#include "inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scope.h"

enum { HEAD = 4, LINE = 57 /* 76 letters */ };

static int many_read(FILE *file, void (*take)(void *owner, const uint8_t *bytes, size_t length),
                     void *owner)
{
        static uint8_t bytes[INPUTS_BYTES];
        uint8_t head[HEAD];

        while (fread(head, 1, HEAD, file) == HEAD) {
                const size_t length = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 |
                                      (size_t)head[3] << 24;
                if (length > sizeof bytes || fread(bytes, 1, length, file) != length)
                        return -EPROTO;
                take(owner, bytes, length);
        }
        return 0;
}

int inputs_read(const char *path, void (*take)(void *owner, const uint8_t *bytes, size_t length),
                void *owner)
{
        static uint8_t bytes[INPUTS_BYTES];
        const char *end = strrchr(path, '.');
        FILE *file = fopen(path, "re");
        int r = 0;

        if (!file)
                return -errno;
        if (end && strcmp(end, ".inputs") == 0)
                r = many_read(file, take, owner);
        else
                take(owner, bytes, fread(bytes, 1, sizeof bytes, file));
        fclose(file);
        return r;
}

int inputs_append(const char *path, const uint8_t *bytes, size_t length)
{
        static uint8_t record[HEAD + INPUTS_BYTES];
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

        if (fd < 0 || length > INPUTS_BYTES)
                return fd < 0 ? -errno : -E2BIG;
        for (unsigned i = 0; i < HEAD; i++)
                record[i] = (uint8_t)(length >> 8 * i);
        memcpy(record + HEAD, bytes, length);
        return write(fd, record, HEAD + length) == (ssize_t)(HEAD + length) ? 0 : -EIO;
}

void inputs_print(const uint8_t *bytes, size_t length)
{
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789+/";

        for (size_t at = 0; at < length; at += 3) {
                const size_t count = length - at < 3 ? length - at : 3;
                const uint32_t group = (uint32_t)bytes[at] << 16 |
                                       (count > 1 ? (uint32_t)bytes[at + 1] << 8 : 0) |
                                       (count > 2 ? bytes[at + 2] : 0);
                if (at % LINE == 0)
                        printf("%s# base64: ", at ? "\n" : "");
                for (size_t i = 0; i < 4; i++)
                        putchar(i <= count ? letters[group >> (18 - 6 * i) & 63] : '=');
        }
        putchar('\n');
}
