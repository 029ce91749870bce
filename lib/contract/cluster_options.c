/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the commands that ask the API server. */
#include "cluster_options.h"

#include <stddef.h>

const struct cli_option kueue_config_options[] = {
        [KUEUE_CONFIG_RESOURCE] = { "resource", "NAME",
                                    "what pods request, instead of asking the cluster; may be "
                                    "repeated",
                                    NULL },
        [KUEUE_CONFIG_QUOTA] = { "quota", "NAME=AMOUNT",
                                 "quota other than the nodes' capacity; may be repeated", NULL },
        [KUEUE_CONFIG_MODE] = { "mode", "MODE",
                                "what counts GB of MIG profiles: inject (vgpu-webhook), transform "
                                "(Kueue), auto",
                                "auto inject transform" },
        [KUEUE_CONFIG_PART] = { "part", "PART",
                                "print all, objects (for kubectl), or manager (Kueue's own "
                                "configuration)",
                                "all objects manager" },
        [KUEUE_CONFIG_FLAVOR] = { "flavor", "NAME", "the ResourceFlavor; default: default", NULL },
        [KUEUE_CONFIG_CLUSTER_QUEUE] = { "cluster-queue", "NAME",
                                         "the ClusterQueue; default: gpu-cluster-queue", NULL },
        [KUEUE_CONFIG_LOCAL_QUEUE] = { "local-queue", "NAME", "the LocalQueue; default: gpu-queue",
                                       NULL },
        [KUEUE_CONFIG_NAMESPACE] = { "namespace", "NAME",
                                     "namespace of the LocalQueue; default: default", NULL },
        [KUEUE_CONFIG_API] = { "api", "VERSION",
                               "API version of Kueue's objects: v1beta2 (default), v1beta1",
                               "v1beta2 v1beta1" },
        [KUEUE_CONFIG_DOMAIN] = { "domain", "NAME",
                                  "domain of resource names, instead of nvidia.com", NULL },
        [KUEUE_CONFIG_KUBECONFIG] = { "kubeconfig", "FILE", "how to reach the API server", "file" },
        { 0 },
};

const struct cli_option kueue_check_options[] = {
        [KUEUE_CHECK_MANAGER] = { "manager-config", "FILE",
                                  "Kueue's configuration, if it is not in its ConfigMap", "file" },
        [KUEUE_CHECK_NAMESPACE] = { "namespace", "NAME",
                                    "namespace in which to try admission, creating nothing; "
                                    "default: "
                                    "default",
                                    NULL },
        [KUEUE_CHECK_DOMAIN] = { "domain", "NAME",
                                 "domain of resource names, instead of nvidia.com", NULL },
        [KUEUE_CHECK_KUBECONFIG] = { "kubeconfig", "FILE", "how to reach the API server", "file" },
        { 0 },
};

const struct cli_option explain_pod_options[] = {
        [EXPLAIN_POD_NAMESPACE] = { "namespace", "NAME",
                                    "namespace of the pod, also -n; default: the kubeconfig's",
                                    NULL },
        [EXPLAIN_POD_JSON] = { "json", NULL, "print JSON", NULL },
        [EXPLAIN_POD_NVIDIA_GPU] = { "nvidia-gpu", NULL,
                                     "also explain nvidia.com/gpu, if vgpu-scheduler has "
                                     "--nvidia-gpu",
                                     NULL },
        [EXPLAIN_POD_DOMAIN] = { "domain", "NAME",
                                 "domain of resource names, instead of nvidia.com", NULL },
        [EXPLAIN_POD_KUBECONFIG] = { "kubeconfig", "FILE", "how to reach the API server", "file" },
        { 0 },
};
