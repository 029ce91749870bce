/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: vgpu-node's file of settings and its list of excluded devices. What one node is given, it
 * is given again, and the words of a key are the same letters. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gpu.h"
#include "node_config.h"

const char *const fuzz_words[] = { "nodes:\n- name: n1\n  ",
                                   "excludeDevices: [0, 1..2]\n",
                                   "{\"nodeconfig\":[{\"name\":\"n1\",",
                                   "\"a\":[1,\"x\"]",
                                   "0..2,",
                                   "GPU-abc",
                                   NULL };

static int take(void *owner, const char *key, const char *value, struct err *e)
{
        (void)e;
        if (!node_config_key_is(key, key) || strlen(value) > 1u << 20)
                abort();
        ++*(unsigned *)owner;
        return 0;
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        const struct gpu gpu = { .index = 1, .uuid = "GPU-abc" };
        char *text = strndup((const char *)bytes, count);
        unsigned once = 0, twice = 0;
        struct err e;

        if (node_config_parse(text, strlen(text), "n1", take, &once, &e) == 0 &&
            (node_config_parse(text, strlen(text), "n1", take, &twice, &e) < 0 || once != twice))
                abort();
        gpu_is_excluded(text, &gpu, &e);
        free(text);
}
