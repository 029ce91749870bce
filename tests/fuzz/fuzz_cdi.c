/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a CDI specification, JSON or YAML. Its device is put into a container, or refused
 * with a sentence; the container's configuration can be written either way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cdi_inject.h"
#include "file.h"
#include "fuzz.h"

const char *const fuzz_words[] = { "kind: a/b\n",
                                   "devices:\n- name: c\n",
                                   "containerEdits:\n",
                                   "\"containerEdits\":{",
                                   "\"kind\":\"a/b\"",
                                   "\"devices\":[{\"name\":\"c\"",
                                   "\"env\":[\"A=1\"]",
                                   "\"deviceNodes\":[{\"path\":\"/dev/null\"}]",
                                   "\"mounts\":[{\"hostPath\":\"/\",\"containerPath\":\"/x\"}]",
                                   "\"hooks\":[{\"hookName\":\"prestart\",\"path\":\"/x\"}]",
                                   NULL };

void fuzz_one(const uint8_t *bytes, size_t count)
{
        char folder[64], path[80], *names[] = { "a/b=c" };
        struct spec spec;
        struct str text = { 0 };
        struct err e = { 0 };

        snprintf(folder, sizeof folder, "/dev/shm/vgpu-fuzz-cdi-%d", getpid());
        snprintf(path, sizeof path, "%s/x.%s", folder, count % 2 ? "json" : "yaml");
        mkdir(folder, 0700);
        setenv("VGPU_RUNTIME_CDI", folder, 1);
        if (file_replace(path, bytes, count, 0600) < 0 || spec_parse("{}", &spec, &e) < 0)
                abort();
        if (cdi_inject(&spec, names, 1, &e) < 0 && !e.text[0])
                abort();
        if (spec_render(&spec, &text, &e) < 0)
                abort();
        str_done(&text);
        spec_done(&spec);
        unlink(path);
        rmdir(folder);
}
