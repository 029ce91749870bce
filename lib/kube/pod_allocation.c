/* What was decided for a pod. */
#include "pod_allocation.h"

#include <errno.h>
#include <string.h>

#include "volcano.h"

static const char *text_at(const json_t *object, const char *first, const char *second)
{
        const char *text =
                json_string_value(json_object_get(json_object_get(object, first), second));

        return text ? text : "";
}

static int decision_read(const json_t *pod, struct allocation *ret_allocation, struct err *e)
{
        const json_t *annotations =
                json_object_get(json_object_get(pod, "metadata"), "annotations");
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
        if (strcmp(ret_allocation->pod_uid, text_at(pod, "metadata", "uid")) == 0 &&
            strcmp(ret_allocation->node, text_at(pod, "spec", "nodeName")) == 0)
                return 0;
        allocation_done(ret_allocation);
        return err_set(e, -EPROTO, "its allocation is another pod's or another node's");
}
