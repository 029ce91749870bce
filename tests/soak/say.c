/* SPDX-License-Identifier: Apache-2.0 */
/* say: the counts are shared between processes. */
#include "say.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static struct {
        _Atomic unsigned said, failed;
} * lines;

void *say_map(size_t bytes)
{
        void *address =
                mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (address == MAP_FAILED) {
                perror("mmap");
                exit(1);
        }
        return address;
}

void say_open(void)
{
        lines = say_map(sizeof *lines);
}

void say(bool is_good, const char *format, ...)
{
        va_list arguments;

        printf("%s %u - ", is_good ? "ok" : "not ok", ++lines->said);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        putchar('\n');
        fflush(stdout);
        lines->failed += !is_good;
}

unsigned say_failed(void)
{
        return lines->failed;
}

int say_close(bool is_tap)
{
        if (is_tap)
                printf("1..%u\n", lines->said);
        else
                printf("%u passed, %u failed, 0 skipped\n", lines->said - lines->failed,
                       lines->failed);
        fflush(stdout);
        return lines->failed > 0;
}
