/* SPDX-License-Identifier: Apache-2.0 */
/* nomination: the node where a pod waits for evictions, as its status and our annotation name it. */
#pragma once

#include "cluster_nomination.h"
#include "kube_client.h"

/* Writes status.nominatedNodeName, and the same as an annotation of our own; NULL takes both away. Sent and
 * forgotten: the nomination holds anyway. */
void nomination_write(struct kube_client *client, const struct pod_ref *pod_ref, const char *node);

/* True: the pod fits on the node once the pods that are being deleted have gone. */
bool nomination_is_good(const struct cluster_node *node, const struct pod_ref *pod_ref,
                        const struct gpu_request *gpu_request, uint64_t now_ns);

/* Nominates the node that the pod's object names, if it is still good. */
void nomination_follow(struct cluster *cluster, const struct pod_ref *pod_ref,
                       const struct gpu_request *gpu_request, uint64_t now_ns);
