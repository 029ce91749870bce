/* SPDX-License-Identifier: Apache-2.0 */
/* container_name: see container_name.h. */
#include "container_name.h"

#include <stdio.h>
#include <string.h>

#include "engine_name.h"
#include "file.h"

/* A name is a convenience: what fails here stops nobody. */
void container_name_note(const struct spec *spec, const char *bundle, const char *id,
                         const char *folder)
{
        char file[ENGINE_PATH] = "", name[ENGINE_NAME] = "", path[ENGINE_PATH + 8],
             text[ENGINE_PATH + 256];
        const bool is_kept = engine_name_find(spec->root, bundle, id, file);

        if ((!is_kept || !engine_name_read(file, id, name)) && !engine_name_noted(spec->root, name))
                return;
        snprintf(path, sizeof path, "%s/engine", folder);
        snprintf(text, sizeof text, "%s\n%s\n", name, is_kept ? file : "");
        (void)file_replace(path, text, strlen(text), 0600);
}
