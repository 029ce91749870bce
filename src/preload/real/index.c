/* SPDX-License-Identifier: Apache-2.0 */
/* index: look-up by name. */
#include "index.h"

#include <string.h>

static const struct index_row *rows_find(const struct index_row *rows, unsigned count,
                                         const char *name)
{
        unsigned low = 0, high = count;

        while (low < high) {
                unsigned middle = (low + high) / 2;
                int order = strcmp(name, rows[middle].name);
                if (order == 0)
                        return &rows[middle];
                if (order < 0)
                        high = middle;
                else
                        low = middle + 1;
        }
        return NULL;
}

const struct index_row *index_find(const char *name)
{
        /* Most look-ups in a program are not ours: decide on two letters. */
        if (name[0] == 'c' && name[1] == 'u')
                return rows_find(index_cuda, index_cuda_count, name);
        if (name[0] == 'n' && name[1] == 'v')
                return rows_find(index_nvml, index_nvml_count, name);
        return NULL;
}
