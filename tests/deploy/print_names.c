/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the names of our tables that pages list, a line per name. */
#include <stdio.h>

#include "choice.h"
#include "kube_reason.h"
#include "resource.h"
#include "setting.h"

int main(void)
{
        for (int i = 0; i < CHOICES; i++)
                for (const char *const *name = choice_rows[i].annotations; *name; name++)
                        printf("annotation %s\n", *name);
        for (size_t i = 0; i < resource_row_count; i++)
                printf("resource %s %d\n", resource_rows[i].name, (int)resource_rows[i].family);
        for (int i = 0; i < SETTING_COUNT; i++)
                for (unsigned number = 0; setting_alias((enum setting)i, number); number++)
                        printf("variable %s\n", setting_alias((enum setting)i, number));
        for (int i = 0; i < KUBE_REASONS; i++)
                printf("event %s %s\n", kube_reasons[i].text, kube_reasons[i].type);
        return 0;
}
