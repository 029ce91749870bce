/* SPDX-License-Identifier: Apache-2.0 */
/* From a pod's object to its identity. */
#include "pod_ref.h"

#include <string.h>

#include "json_read.h"
#include "kube_time.h"
#include "str.h"

void pod_ref_read(const json_t *pod, struct pod_ref *ret_ref)
{
        const json_t *metadata = json_object_get(pod, "metadata");
        const json_t *spec = json_object_get(pod, "spec");
        const json_t *status = json_object_get(pod, "status");
        int64_t us = 0;

        memset(ret_ref, 0, sizeof *ret_ref);
        str_copy(ret_ref->uid, sizeof ret_ref->uid, json_read_text(metadata, "uid"));
        str_copy(ret_ref->namespace_name, sizeof ret_ref->namespace_name,
                 json_read_text(metadata, "namespace"));
        str_copy(ret_ref->name, sizeof ret_ref->name, json_read_text(metadata, "name"));
        str_copy(ret_ref->nominated_status, sizeof ret_ref->nominated_status,
                 json_read_text(status, "nominatedNodeName"));
        str_copy(ret_ref->nominated_annotation, sizeof ret_ref->nominated_annotation,
                 json_read_text(json_object_get(metadata, "annotations"),
                                NOMINATED_NODE_ANNOTATION));
        ret_ref->priority = (int32_t)json_read_integer(spec, "priority");
        ret_ref->may_preempt = strcmp(json_read_text(spec, "preemptionPolicy"), "Never") != 0;
        ret_ref->is_leaving = *json_read_text(metadata, "deletionTimestamp") != '\0';
        if (kube_time_parse(json_read_text(status, "startTime"), &us) < 0)
                kube_time_parse(json_read_text(metadata, "creationTimestamp"), &us);
        ret_ref->started_s = us / 1000000;
}
