/* SPDX-License-Identifier: Apache-2.0 */
/* engine: containerd's and CRI-O's configuration. */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "scope.h"

/* Tells a container engine of the runtime, where nobody has. */
static int engine_write(const char *path, const char *text, struct err *e)
{
        struct stat like;
        const int r = stat(path, &like) == 0 ? file_replace_like(path, text, strlen(text), &like)
                                             : file_replace(path, text, strlen(text), 0644);

        if (r < 0)
                return err_set(e, r, "cannot write '%.150s': %s", path, strerror(-r));
        printf("%s names it; restart the container engine to apply it\n", path);
        return 0;
}

/* The plugin that starts containers has another name in each version of the file. */
static const char *containerd_plugin(const char *text)
{
        static const struct {
                const char *version, *plugin;
        } names[] = { { "2", "io.containerd.grpc.v1.cri" },
                      { "3", "io.containerd.cri.v1.runtime" } };

        for (const char *line = text; line && *line; line = strchr(line, '\n')) {
                char version[8];

                line += *line == '\n';
                if (sscanf(line, " version = %7[0-9]", version) != 1)
                        continue;
                for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                        if (strcmp(version, names[i].version) == 0)
                                return names[i].plugin;
                return NULL;
        }
        return NULL;
}

/* At the end of the file: containerd 1 lets a file that is imported replace all of a plugin's settings. */
int engine_containerd(const char *path, const char *to, struct err *e)
{
        autofree char *before = NULL, *text = NULL;
        const int r = file_read(path, &before);
        const char *plugin = r == 0 ? containerd_plugin(before) : NULL;

        if (r < 0)
                return err_set(e, r, "cannot read '%.150s': %s", path, strerror(-r));
        if (strstr(before, ".runtimes.vgpu]") || strstr(before, ".runtimes.'vgpu']"))
                return 0;
        if (!plugin)
                return err_set(e, -EPROTO,
                               "'%.150s' is not of version 2 or 3; make it so with 'containerd "
                               "config migrate'",
                               path);
        if (asprintf(&text,
                     "%s%s\n[plugins.\"%s\".containerd.runtimes.vgpu]\n"
                     "  runtime_type = \"io.containerd.runc.v2\"\n"
                     "  container_annotations = [\"vgpu.io/*\"]\n"
                     "  [plugins.\"%s\".containerd.runtimes.vgpu.options]\n"
                     "    BinaryName = \"%s/current/sbin/vgpu-runtime\"\n",
                     before, *before && before[strlen(before) - 1] != '\n' ? "\n" : "", plugin,
                     plugin, to) < 0)
                return err_set(e, -ENOMEM, "out of memory");
        return engine_write(path, text, e);
}

int engine_crio(const char *path, const char *to, struct err *e)
{
        autofree char *before = NULL, *text = NULL;

        if (asprintf(&text,
                     "[crio.runtime.runtimes.vgpu]\n"
                     "runtime_path = \"%s/current/sbin/vgpu-runtime\"\n",
                     to) < 0)
                return err_set(e, -ENOMEM, "out of memory");
        if (file_read(path, &before) == 0 && strcmp(before, text) == 0)
                return 0;
        return engine_write(path, text, e);
}
