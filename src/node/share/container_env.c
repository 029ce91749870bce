/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of settings are lent the container's environment. */
#include "container_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "json_read.h"
#include "limits_environment.h"
#include "setting.h"

static void list_free(char **list)
{
        for (char **entry = list; entry && *entry; entry++)
                free(*entry);
        free(list);
}

static char **list_make(const json_t *env, const char *policy)
{
        char **list = calloc(json_array_size(env) + 2, sizeof *list);
        size_t count = 0;

        /* Of two with one name the last counts; readers take the first. */
        for (size_t i = json_array_size(env); list && i-- > 0;) {
                const json_t *item = json_array_get(env, i);
                const char *name = json_read_text_or_null(item, "name");
                const char *value = json_read_text_or_null(item, "value");

                if (!name || !value)
                        continue;
                if (asprintf(&list[count], "%s=%s", name, value) < 0) {
                        list[count] = NULL;
                        list_free(list);
                        return NULL;
                }
                count++;
        }
        /* Under the name that every other yields to. */
        if (list && policy &&
            asprintf(&list[count], "GPU_CORE_UTILIZATION_POLICY=%s", policy) < 0) {
                list[count] = NULL;
                list_free(list);
                return NULL;
        }
        return list;
}

int container_env_read(const json_t *container, const char *policy, struct share_copy *ret_wishes,
                       struct err *e)
{
        char **list = list_make(json_object_get(container, "env"), policy);
        struct variable_names names;

        if (!list)
                return err_set(e, -ENOMEM, "out of memory");
        setting_lend(list);
        const int r = limits_environment_read(ret_wishes, &names, e);
        setting_lend(NULL);
        list_free(list);
        return r;
}
