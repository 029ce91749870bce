/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own name for this boot. */
#include "boot_id.h"

#include <string.h>

#include "file.h"
#include "scope.h"
#include "str.h"

int boot_id_read(char ret_id[BOOT_ID_BYTES])
{
        autofree char *text = NULL;
        const int r = file_read("/proc/sys/kernel/random/boot_id", &text);

        if (r < 0)
                return r;
        text[strcspn(text, "\n")] = '\0';
        str_copy(ret_id, BOOT_ID_BYTES, text);
        return 0;
}
