/* SPDX-License-Identifier: Apache-2.0 */
/* pod_shares: the shares of one pod's containers, made or changed as the pod says. */
#pragma once

#include "pod_watch.h"
#include "seen_pod.h"

/* Containers that were to have a share and cannot are noted with the pod, and logged once. 0, or why it may be otherwise
 * when the pod is told again: file_error_passes(), or no space on the disk. */
int pod_shares_apply(const struct pod_watch_options *options, struct seen_pod *seen,
                     const json_t *pod);
/* The watch is in sync: revokes growth of shares where it leaves too little for the allocations. */
void pod_shares_settle(const struct pod_watch_options *options);
