/* SPDX-License-Identifier: Apache-2.0 */
/* evade WAY MIB: a program of a tenant who wants more memory than its share has.
 *
 * Goes the way, makes a context, allocates, and prints one line: the CUresult of the allocation, or "barred:" and
 * what kept it. Then it holds what it got until its input ends. Needs nothing of vgpu's. */
#include "evade.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char **evade_arguments;
static char barred_by[256];

bool barred(const char *what)
{
        snprintf(barred_by, sizeof barred_by, "%s: %s", what, strerror(errno));
        return false;
}

uintptr_t mapping_find(const char *path, size_t *ret_bytes)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        unsigned long from = 0, to = 0;
        char line[512];

        while (maps && fgets(line, sizeof line, maps)) {
                line[strcspn(line, "\n")] = '\0';
                const char *name = strchr(line, '/');
                if (name && strcmp(name, path) == 0 && sscanf(line, "%lx-%lx", &from, &to) == 2)
                        break;
                from = to = 0;
        }
        if (maps)
                fclose(maps);
        *ret_bytes = to - from;
        return from;
}

static const struct way *way_find(const char *name)
{
        static const struct way *const tables[] = { ways_symbols, ways_memory, ways_kernel,
                                                    ways_processes };

        for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
                for (const struct way *way = tables[i]; way->name; way++)
                        if (strcmp(way->name, name) == 0)
                                return way;
        return NULL;
}

/* The CUresult, or −1: the way was barred. */
static int go(const struct way *way, size_t bytes)
{
        struct driver_calls calls = { 0 };
        unsigned long long address;
        void *context;
        int r;

        if (!way->open(&calls))
                return -1;
        if ((r = calls.init(0)) != 0 || (r = calls.context(&context, 0, 0)) != 0)
                return r;
        if (way->change && !way->change(&calls))
                return -1;
        return calls.alloc ? calls.alloc(&address, bytes) : 0;
}

int main(int argc, char **argv)
{
        const struct way *way = argc == 3 ? way_find(argv[1]) : NULL;
        char ignored[64];

        evade_arguments = argv;
        if (!way) {
                fprintf(stderr, "evade: WAY MIB\n");
                return 2;
        }
        const int r = go(way, (size_t)strtoul(argv[2], NULL, 10) << 20);
        if (r < 0)
                printf("barred: %s\n", barred_by);
        else
                printf("%d\n", r);
        fflush(stdout);
        while (read(STDIN_FILENO, ignored, sizeof ignored) > 0)
                continue;
        return 0;
}
