/* SPDX-License-Identifier: Apache-2.0 */
/* Walks our own mappings. Code alone: it is never written to, so that its file has all of it;
 * read-only data may have been written while it was relocated. */
#include "code_trim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

void code_trim(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[512], access[8], path[256];
        uintptr_t begin, end;

        while (maps && fgets(line, sizeof line, maps)) {
                if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %*s %255s", &begin, &end,
                           access, path) != 4)
                        continue;
                if (strcmp(access, "r-xp") == 0 && path[0] == '/')
                        madvise((void *)begin, end - begin, MADV_DONTNEED);
        }
        if (maps)
                fclose(maps);
}
