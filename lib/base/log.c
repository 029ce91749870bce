/* log: formats a line into a fixed buffer and writes it once. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = { "error", "warn", "info", "debug" };

static struct {
        const char *program;
        atomic_int level; /* negative: VGPU_LOG has not been read */
} log_state = { .program = "vgpu", .level = -1 };

static int log_level_read(enum log_level level)
{
        const char *wanted = getenv("VGPU_LOG");

        for (int i = 0; wanted && i <= LOG_LEVEL_DEBUG; i++)
                if (!strcmp(wanted, level_names[i]))
                        return i;
        return (int)level;
}

void log_open(const char *program, enum log_level level)
{
        log_state.program = program;
        atomic_store(&log_state.level, log_level_read(level));
}

static int log_level(void)
{
        int level = atomic_load_explicit(&log_state.level, memory_order_relaxed);

        if (level < 0) {
                level = log_level_read(LOG_LEVEL_WARN);
                atomic_store(&log_state.level, level);
        }
        return level;
}

void log_write(enum log_level level, const char *format, ...)
{
        int saved_errno = errno;

        if ((int)level > log_level())
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
