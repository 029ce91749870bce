/* SPDX-License-Identifier: Apache-2.0 */
/* kube_config: where the API server is and who we are to it. */
#pragma once

#include <stdbool.h>

#include "err.h"

/* Owned texts; NULL where there is none. */
struct kube_config {
        char *host, *port;
        char *path;               /* before every path: "" or "/k8s/clusters/c-1" */
        char *server_name;        /* whom the certificate must name */
        char *authorities;        /* PEM; NULL: the system's */
        char *authorities_path;   /* read again when it changes */
        char *certificate, *key;  /* PEM, of our own */
        char *token, *token_path; /* the file wins, and is read again */
        char *namespace_name;
        bool is_plain;             /* http: only for tests and proxies */
        bool trusts_all;           /* insecure-skip-tls-verify */
        unsigned ping_ms, pong_ms; /* as http_client.h has them; not in any file */
};

/* path: a kubeconfig file. NULL: $KUBECONFIG, else what a pod is given, else ~/.kube/config. */
int kube_config_load(const char *path, struct kube_config *ret_config, struct err *e);

/* What a pod is given: the folder with token, ca.crt and namespace, and the server's host and port. */
int kube_config_in_cluster(const char *folder, const char *host, const char *port,
                           struct kube_config *ret_config, struct err *e);

/* A kubeconfig's text; folder is what its relative paths begin at. Certificates and keys that it names
 * by path are read; a program that it wants to run (exec) is refused. */
int kube_config_parse(const char *text, const char *folder, struct kube_config *ret_config,
                      struct err *e);

void kube_config_done(struct kube_config *config);
