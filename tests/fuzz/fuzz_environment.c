/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: an environment, a variable per line. What a misspelt name was meant to be is a name that is
 * read, and what was read and checked against two GPUs has no limit beyond them. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "limits_environment.h"
#include "setting.h"

const char *const fuzz_words[] = {
        "VGPU_MEMORY_LIMIT",
        "VGPU_MEMORY=",
        "VGPU_CORES_1=30",
        "VGPU_CORE",
        "CUDA_MEM_LIMIT_0=1g",
        "CUDA_MEM_RATIO=2",
        "CUDA_DEVICE_",
        "_LIMIT",
        "_SERVICE_",
        "_PORT_443_TCP",
        "VGPU_DEVICES=GPU-0",
        "MANAGER_VISIBLE_DEVICE_1=GPU-1",
        "\n",
        "=",
        "_5=",
        NULL,
};

static void name_check(const char *variable)
{
        char meant[VARIABLE_NAME], ignored[VARIABLE_NAME];

        if (variable_judge(variable, meant) == VARIABLE_MISSPELT &&
            variable_judge(meant, ignored) != VARIABLE_READ)
                abort();
}

/* Does a row beyond all GPUs say something that the plain name does not? 0 beside it is fine. */
static bool has_lost_limit(const struct share_copy *limits)
{
        const uint64_t bytes = limits->devices[7].limit_bytes;

        for (unsigned i = 0; i < SHARE_DEVICES; i++)
                if (limits->devices[i].uuid[0])
                        return false; /* rows go by the list */
        for (unsigned i = 50; i < 53; i++)
                if (limits->devices[i].limit_bytes == bytes)
                        return false;
        return bytes != SHARE_UNLIMITED;
}

static void limits_try(char *const *list)
{
        static const struct limits_gpu gpus[] = { { "GPU-0", 0 }, { "GPU-1", 1 } };
        struct share_copy limits = { 0 };
        struct variable_names names;
        struct err e;

        setting_lend(list);
        if (limits_environment_read(&limits, &names, &e) == 0 &&
            limits_environment_check(&limits, gpus, 2, &e) == 0 && has_lost_limit(&limits))
                abort();
        setting_lend(NULL);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count), *list[32], *remainder = text;
        size_t variables = 0;

        for (char *one; variables < 31 && (one = strsep(&remainder, "\n")); variables++) {
                list[variables] = one;
                name_check(one);
        }
        list[variables] = NULL;
        limits_try(list);
        free(text);
}
