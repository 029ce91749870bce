/* SPDX-License-Identifier: Apache-2.0 */
/* What was decided for a pod. */
#include "pod_allocation.h"

#include <errno.h>
#include <string.h>

#include "json_read.h"
#include "volcano.h"

static int decision_read(const json_t *pod, struct allocation *ret_allocation, struct err *e)
{
        const json_t *annotations = json_read_annotations(pod);
        const json_t *ours = json_object_get(annotations, ALLOCATION_ANNOTATION);

        if (!ours)
                return volcano_decision_read(pod, ret_allocation, e);
        return json_is_string(ours) ? allocation_parse(json_string_value(ours), ret_allocation, e)
                                    : err_set(e, -EPROTO, "the allocation is not a text");
}

int pod_allocation_read(const json_t *pod, struct allocation *ret_allocation, struct err *e)
{
        const int r = decision_read(pod, ret_allocation, e);

        if (r < 0)
                return r;
        if (strcmp(ret_allocation->pod_uid, json_read_text_in(pod, "metadata", "uid")) == 0 &&
            strcmp(ret_allocation->node, json_read_text_in(pod, "spec", "nodeName")) == 0)
                return 0;
        allocation_done(ret_allocation);
        return err_set(e, -EPROTO, "its allocation is for another pod or another node");
}
