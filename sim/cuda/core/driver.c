/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's state in a process, and what it says on its own. */
#include "driver.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct driver driver = { .machine.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

bool driver_is_started(void)
{
        return driver.slot != NULL;
}

struct device *driver_device(CUdevice ordinal)
{
        return ordinal >= 0 && ordinal < driver.device_count ? &driver.devices[ordinal] : NULL;
}

void driver_say(const char *format, ...)
{
        static _Atomic uint32_t said[256];
        char text[512] = "vgpu-sim: ";
        size_t start = strlen(text);
        va_list arguments;

        va_start(arguments, format);
        int length = vsnprintf(text + start, sizeof text - start - 1, format, arguments);
        va_end(arguments);
        if (length < 0)
                return;
        uint32_t hash = 2166136261u;
        for (const char *p = text; *p; p++)
                hash = (hash ^ (uint8_t)*p) * 16777619u;
        hash |= 1;
        if (atomic_exchange(&said[hash % 256], hash) == hash)
                return;
        size_t end = strlen(text);
        text[end++] = '\n';
        int saved = errno;
        ssize_t written = write(STDERR_FILENO, text, end);
        (void)written;
        errno = saved;
}
