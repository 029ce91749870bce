/* SPDX-License-Identifier: Apache-2.0 */
/* The containers of a pod and the choices of its annotations, as JSON. */
#include "pod.h"

#include <stdio.h>
#include <string.h>

#include "json_read.h"

static const char *const lists[] = { "initContainers", "containers" };
enum { LISTS = sizeof lists / sizeof lists[0] };

bool pod_walk_next(struct pod_walk *walk)
{
        for (; walk->list < LISTS; walk->list++, walk->next = 0) {
                const json_t *list = json_object_get(walk->spec, lists[walk->list]);

                if (walk->next >= json_array_size(list))
                        continue;
                snprintf(walk->pointer, sizeof walk->pointer, "%s/%s/%zu", walk->path,
                         lists[walk->list], walk->next);
                walk->container = json_array_get(list, walk->next++);
                const char *restart = json_read_text_or_null(walk->container, "restartPolicy");

                walk->phase = walk->list > 0                              ? POD_APP
                              : restart && strcmp(restart, "Always") == 0 ? POD_SIDECAR
                                                                          : POD_INIT;
                return true;
        }
        return false;
}

bool pod_has_controller(const json_t *object)
{
        const json_t *owners =
                json_object_get(json_object_get(object, "metadata"), "ownerReferences");
        const json_t *owner;
        size_t i;

        json_array_foreach (owners, i, owner)
                if (json_read_is_true(owner, "controller"))
                        return true;
        return false;
}

const char *pod_choice(const json_t *pod, enum choice choice, const char **ret_annotation)
{
        for (const char *const *name = choice_rows[choice].annotations; *name; name++) {
                const char *text = json_read_annotation(pod, *name);

                if (!text)
                        continue;
                if (ret_annotation)
                        *ret_annotation = *name;
                return text;
        }
        return NULL;
}
