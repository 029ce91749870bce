/* log: formats a line into a fixed buffer and writes it once. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = { "error", "warn", "info", "debug" };

static struct {
        const char *program;
        enum log_level level;
        bool is_open;
} log_state = { .program = "vgpu", .level = LOG_LEVEL_WARN };

void log_open(const char *program, enum log_level level)
{
        const char *wanted = getenv("VGPU_LOG");

        for (unsigned i = 0; wanted && i <= LOG_LEVEL_DEBUG; i++)
                if (!strcmp(wanted, level_names[i]))
                        level = (enum log_level)i;
        log_state.program = program;
        log_state.level = level;
        log_state.is_open = true;
}

void log_write(enum log_level level, const char *format, ...)
{
        int saved_errno = errno;

        if (!log_state.is_open)
                log_open(log_state.program, log_state.level);
        if (level > log_state.level)
                return;

        char line[512];
        int length = snprintf(line, sizeof line, "%s %s: ", level_names[level], log_state.program);
        va_list args;
        va_start(args, format);
        length += vsnprintf(line + length, sizeof line - (size_t)length, format, args);
        va_end(args);
        if (length > (int)sizeof line - 1)
                length = sizeof line - 1;
        line[length] = '\n';
        /* Nobody can be told that the log itself failed. */
        ssize_t ignored = write(STDERR_FILENO, line, (size_t)length + 1);
        (void)ignored;
        errno = saved_errno;
}
