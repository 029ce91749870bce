/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: how a container engine calls a container: its configuration, and the engine's own file. A name
 * that is found ends, and is short enough to be shown. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_name.h"
#include "fuzz.h"

const char *const fuzz_words[] = { "\"annotations\":{",
                                   "\"nerdctl/name\":\"",
                                   "\"Name\":\"/",
                                   "\"name\":\"",
                                   "\"hostname\":\"",
                                   "abc123",
                                   "\\u0000",
                                   "{",
                                   "}",
                                   "[",
                                   "]",
                                   "\",",
                                   NULL };

static char path[64];

static void path_remove(void)
{
        unlink(path);
}

static void name_check(const char name[static ENGINE_NAME])
{
        if (!memchr(name, '\0', ENGINE_NAME))
                abort();
}

static void try_file(const uint8_t *bytes, size_t count)
{
        char name[ENGINE_NAME];
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
                abort();
        close(fd);
        if (engine_name_read(path, "abc123", name))
                name_check(name);
}

static void try_configuration(const uint8_t *bytes, size_t count)
{
        json_t *config = json_loadb((const char *)bytes, count, 0, NULL);
        char name[ENGINE_NAME], found[ENGINE_PATH];

        if (config && engine_name_noted(config, name))
                name_check(name);
        if (config && engine_name_find(config, "/run/bundle", "abc123", found) &&
            !memchr(found, '\0', sizeof found))
                abort();
        json_decref(config);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        if (!*path) {
                snprintf(path, sizeof path, "/dev/shm/vgpu-fuzz-engine-%d", (int)getpid());
                atexit(path_remove);
        }
        try_file(bytes, count);
        try_configuration(bytes, count);
}
