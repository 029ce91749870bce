/* SPDX-License-Identifier: Apache-2.0 */
/* node_options: the command line of vgpu-node. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "address.h"
#include "err.h"

enum { NODE_RESOURCES_MOST = 8 };

/* Under which names MIG devices are offered. */
enum mig_strategy {
        MIG_STRATEGY_NONE,   /* not at all */
        MIG_STRATEGY_SINGLE, /* instead of vGPUs, where all are equal */
        MIG_STRATEGY_MIXED,  /* of their profiles */
};

/* How far a variable in a container may raise its limits. */
enum env_ceiling {
        ENV_CEILING_NONE, /* to what its pod may be resized to, if that is more than it has */
        ENV_CEILING_GPU,  /* to what the GPU has left */
};

/* What becomes of a container that uses more than its region records. */
enum violation_policy {
        VIOLATION_POLICY_REPORT,   /* it is reported */
        VIOLATION_POLICY_THROTTLE, /* its share is next to nothing while it does */
        VIOLATION_POLICY_EVICT,    /* its pod is evicted */
};

struct node_options {
        const char *plugin_path; /* kubelet's folder of device plugins */
        const char *node_name;   /* NULL: no registration with the API server */
        const char *state_folder;
        const char *run_folder;    /* of the sockets */
        const char *pod_resources; /* kubelet's */
        struct address scheduler;  /* asked when the watch lags; length 0: nobody is */
        const char *scheduler_name, *scheduler_folder; /* of its certificate, and of ours */
        const char *sim_driver;       /* NULL: no simulated machine is given to containers */
        uint64_t oversold_host_bytes; /* 0: the GPU's size */
        bool is_context_exempt;
        bool has_open_modules;  /* of the kernel, which speak each container's own pids */
        const char *kubeconfig; /* NULL: as kube_config.h says */
        const char *exclude;    /* NULL: none */
        const char *resources[NODE_RESOURCES_MOST + 1]; /* ends with NULL */
        unsigned split_count, memory_factor;
        double memory_scaling, cores_scaling;
        enum mig_strategy mig_strategy;
        bool offers_memory;             /* gpu.das.com/mem */
        const char *config_path;        /* NULL: none */
        char *config_exclude;           /* of that file */
        bool uses_volcano;              /* the GPUs are registered for Volcano's scheduler, too */
        struct address metrics_address; /* length 0: no metrics */
        bool is_metrics_authorized;     /* the API server says who may read them */
        bool has_metrics_tls;
        const char *metrics_certificate, *metrics_key; /* NULL: a certificate of our own */
        unsigned quiet_ms, hang_ms; /* as gpu_watch.h has them; 0: its defaults */
        enum env_ceiling env_ceiling;
        enum violation_policy violation_policy;
        bool is_standalone;        /* no kubelet, no API server */
        bool is_unconfined;        /* keeps all system calls and capabilities */
        const char *runtime_state; /* vgpu-runtime's folder */
};

/* 1: help was printed, and nothing else is to be done. < 0: the sentence is in e. Texts point into
 * argv, the environment or constants. */
int node_options_parse(int argc, char **argv, struct node_options *ret_options, struct err *e);
void node_options_done(struct node_options *options);
