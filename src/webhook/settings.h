/* SPDX-License-Identifier: Apache-2.0 */
/* What vgpu-webhook was told on its command line. */
#pragma once

#include "address.h"
#include "rules.h"

enum { SETTINGS_NAMES = 16 };

struct settings {
        const char *listen;
        struct address address;                  /* of listen */
        const char *certificate_path, *key_path; /* mounted; NULL: our own, kept in a Secret */
        const char *kubeconfig;                  /* NULL: as kube_config_load() finds it */
        const char *namespace_name;              /* NULL: the kubeconfig's, or the pod's */
        const char *secret, *service, *configuration;
        const char *seal_key_path;
        const char *foreign_runtimes[SETTINGS_NAMES + 1], *trusted_users[SETTINGS_NAMES + 1],
                *volcano_users[SETTINGS_NAMES + 1];
        bool is_metrics_authorized; /* the API server says who may read them */
        struct rules rules;         /* but for the seal's key */
};

/* 0: continue; else exit with *ret_exit, the sentence or the help was printed. */
int settings_read(int argc, char **argv, struct settings *ret_settings, int *ret_exit);
