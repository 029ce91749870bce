/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations on pods. */
#include "annotation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "choice.h"
#include "json_read.h"
#include "quantity.h"

/* Written by our programs; the second group by Volcano's scheduler, whose decision we honour. */
static const char *const ours[] = { "vgpu.io/allocation", "vgpu.io/nominated-node",
                                    ANNOTATION_CONTAINER_UUIDS, ANNOTATION_SEAL, NULL };
static const char *const volcano_annotations[] = { "volcano.sh/vgpu-ids-new",
                                                   "volcano.sh/devices-to-allocate",
                                                   "volcano.sh/vgpu-node",
                                                   "volcano.sh/vgpu-time",
                                                   "volcano.sh/bind-phase",
                                                   "volcano.sh/bind-time",
                                                   NULL };

static bool is_in_list(const char *text, const char *const *list)
{
        for (; *list; list++)
                if (strcmp(text, *list) == 0)
                        return true;
        return false;
}

bool annotation_is_of_volcano(const char *name)
{
        return is_in_list(name, volcano_annotations);
}

bool annotation_is_reserved(const char *name)
{
        return is_in_list(name, ours) || is_in_list(name, volcano_annotations);
}

bool annotation_is_ceiling(const char *name)
{
        return strcmp(name, "vgpu.io/memory-max") == 0 || strcmp(name, "vgpu.io/cores-max") == 0;
}

static int resize_check(const char *name, const char *text, struct err *e)
{
        uint64_t bytes;
        unsigned percent;

        if (strcmp(name, "vgpu.io/memory") == 0 || strcmp(name, "vgpu.io/memory-max") == 0)
                return quantity_parse_bytes(text, &bytes, e);
        return quantity_parse_percent(text, "cores", &percent, e);
}

int annotation_check(const char *name, const json_t *value, struct err *e)
{
        static const char *const resizes[] = { "vgpu.io/memory", "vgpu.io/memory-max",
                                               "vgpu.io/cores", "vgpu.io/cores-max", NULL };
        const char *text = json_string_value(value);
        enum choice choice;
        const bool is_choice = choice_find(name, &choice);
        int ignored;

        if (!is_choice && !is_in_list(name, resizes))
                return 0;
        if (!text)
                return err_set(e, -EINVAL, "annotation %s is not a text", name);
        if ((is_choice ? choice_parse(choice, text, &ignored, e) : resize_check(name, text, e)) < 0)
                return err_context(e, -EINVAL, name);
        return 0;
}

static bool size_get(const json_t *annotations, const char *name, uint64_t *ret_bytes)
{
        const char *text = json_read_text_or_null(annotations, name);

        return text && quantity_parse_bytes(text, ret_bytes, NULL) == 0;
}

static bool percent_get(const json_t *annotations, const char *name, unsigned *ret_percent)
{
        const char *text = json_read_text_or_null(annotations, name);

        return text && quantity_parse_percent(text, "cores", ret_percent, NULL) == 0;
}

int annotation_check_resize(const json_t *annotations, uint64_t requested_bytes,
                            unsigned requested_cores, struct err *e)
{
        uint64_t bytes, most_bytes = requested_bytes;
        unsigned cores, most_cores = requested_cores;

        size_get(annotations, "vgpu.io/memory-max", &most_bytes);
        percent_get(annotations, "vgpu.io/cores-max", &most_cores);
        if (size_get(annotations, "vgpu.io/memory", &bytes) && most_bytes && bytes > most_bytes)
                return err_set(e, -EINVAL,
                               "vgpu.io/memory of %" PRIu64 " MiB is over the ceiling of %" PRIu64
                               " MiB (vgpu.io/memory-max, or the request)",
                               bytes >> 20, most_bytes >> 20);
        if (percent_get(annotations, "vgpu.io/cores", &cores) && most_cores && cores > most_cores)
                return err_set(e, -EINVAL,
                               "vgpu.io/cores of %u is over the ceiling of %u "
                               "(vgpu.io/cores-max, or the request)",
                               cores, most_cores);
        return 0;
}
