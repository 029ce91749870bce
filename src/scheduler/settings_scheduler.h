/* SPDX-License-Identifier: Apache-2.0 */
/* settings_scheduler: how vgpu-scheduler was told to be. */
#pragma once

#include <stdbool.h>

#include "address.h"
#include "placement.h"

struct scheduler_settings { /* texts point into argv or are constants; NULL: not given */
        const char *listen;
        const char *metrics_listen; /* NULL: nowhere else */
        const char *allocations;    /* where nodes ask; NULL: nowhere */
        struct address listen_address, metrics_address, allocations_address; /* of these */
        const char *certificate_path, *key_path, *clients_path;
        const char *service, *secret, *client_secret; /* of certificates of our own */
        const char *kubeconfig, *namespace_name;
        const char *identity, *lease;
        unsigned patience_s; /* with the watch, for decisions */
        bool is_plain, with_gpu, elects;
        bool is_metrics_authorized; /* the API server says who may read metrics, and simulate */
        bool has_metrics_tls;
        enum placement_policy node_policy; /* for pods without a policy: binpack or spread */
};

/* 0: continue. < 0: end (help, version, a mistake), *ret_code is the program's. */
int scheduler_settings_read(int argc, char **argv, struct scheduler_settings *ret_settings,
                            int *ret_code);
