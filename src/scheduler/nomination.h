/* Nomination: the node that is kept for a pod, as it stands in its status. */
#pragma once

#include "cluster_claim.h"
#include "kube_client.h"

/* Writes status.nominatedNodeName, and the same as an annotation of our own; NULL takes both away. Sent and
 * forgotten: the room is kept anyway. */
void nomination_write(struct kube_client *client, const struct who *who, const char *node);

/* Would the pod fit on the node once those who are leaving have gone? */
bool nomination_is_good(const struct cluster_node *node, const struct who *who,
                        const struct asking *asking, uint64_t now_ns);

/* Keeps the room on the node that the pod's object names, if it is still good. */
void nomination_follow(struct cluster *cluster, const struct who *who, const struct asking *asking,
                       uint64_t now_ns);
