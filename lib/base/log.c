/* SPDX-License-Identifier: Apache-2.0 */
/* log: formats a line into a fixed buffer and writes it once. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "str.h"

static const char *const level_names[] = { "error", "warn", "info", "debug", "error", "detail" };

static struct {
        const char *program;
        atomic_uint levels; /* 1 << enum log_level; 0: VGPU_LOG has not been read */
} log_state = { .program = "vgpu" };

/* The level and those above it. */
static unsigned levels_down_to(enum log_level level)
{
        return (2u << level) - 1;
}

/* 0: VGPU_LOG names no level. */
static unsigned levels_named(const char *wanted)
{
        for (int i = 0; wanted && i <= LOG_LEVEL_DETAIL; i++)
                if (i != LOG_LEVEL_FATAL && !strcmp(wanted, level_names[i]))
                        return levels_down_to((enum log_level)i);
        return 0;
}

static unsigned levels_read(enum log_level level)
{
        const unsigned levels = levels_named(getenv("VGPU_LOG"));

        return levels ? levels : levels_down_to(level);
}

void log_open(const char *program, enum log_level level)
{
        const char *wanted = getenv("VGPU_LOG");

        log_state.program = program;
        log_show(levels_read(level));
        if (wanted && *wanted && !levels_named(wanted))
                log_warn("VGPU_LOG: invalid value '%.40s' (expected error, warn, info, debug or "
                         "detail); using '%s'",
                         wanted, level_names[level]);
}

void log_show(unsigned levels)
{
        atomic_store(&log_state.levels, levels | 1u << LOG_LEVEL_FATAL);
}

bool log_shows(enum log_level level)
{
        unsigned levels = atomic_load_explicit(&log_state.levels, memory_order_relaxed);

        if (!levels) {
                log_show(levels_read(LOG_LEVEL_WARN));
                levels = atomic_load(&log_state.levels);
        }
        return levels >> level & 1;
}

void log_write(enum log_level level, const char *format, ...)
{
        int saved_errno = errno;

        if (!log_shows(level))
                return;

        char line[512];
        int length = snprintf(line, sizeof line, "%s %s: ", level_names[level], log_state.program);
        va_list args;
        va_start(args, format);
        length += vsnprintf(line + length, sizeof line - (size_t)length, format, args);
        va_end(args);
        if (length > (int)sizeof line - 1)
                length = sizeof line - 1;
        str_tame(line);
        line[length] = '\n';
        /* Nobody can be told that the log itself failed. */
        ssize_t ignored = write(STDERR_FILENO, line, (size_t)length + 1);
        (void)ignored;
        errno = saved_errno;
}
