/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the commands that ask the API server: rows that vgpu and vgpu-cluster share. */
#pragma once

#include "cli_option.h"

enum {
        KUEUE_CONFIG_RESOURCE,
        KUEUE_CONFIG_QUOTA,
        KUEUE_CONFIG_MODE,
        KUEUE_CONFIG_PART,
        KUEUE_CONFIG_FLAVOR,
        KUEUE_CONFIG_CLUSTER_QUEUE,
        KUEUE_CONFIG_LOCAL_QUEUE,
        KUEUE_CONFIG_NAMESPACE,
        KUEUE_CONFIG_API,
        KUEUE_CONFIG_DOMAIN,
        KUEUE_CONFIG_KUBECONFIG,
};
enum {
        EXPLAIN_POD_NAMESPACE,
        EXPLAIN_POD_JSON,
        EXPLAIN_POD_NVIDIA_GPU,
        EXPLAIN_POD_DOMAIN,
        EXPLAIN_POD_KUBECONFIG,
        EXPLAIN_POD_OPTIONS,
};
enum { KUEUE_CHECK_MANAGER, KUEUE_CHECK_NAMESPACE, KUEUE_CHECK_DOMAIN, KUEUE_CHECK_KUBECONFIG };

extern const struct cli_option kueue_config_options[], kueue_check_options[], explain_pod_options[];
