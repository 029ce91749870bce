/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: /proc/PID/cgroup, whose paths others choose. What is found is a name of the text. */
#include <stdlib.h>
#include <string.h>

#include "control_group.h"
#include "fuzz.h"

const char *const fuzz_words[] = {
        "0::/",  "pids:",   "kubepods",         "-pod", ".slice", ".scope",
        "crio-", "docker-", ":cri-containerd:", "/..",  NULL
};

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count);
        struct control_group group = { 0 };

        if (control_group_parse(text, &group) == 0 &&
            (!group.container_id[0] || !strstr(text, group.container_id) ||
             strchr(group.container_id, '/')))
                abort();
        free(text);
}
