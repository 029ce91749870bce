/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_session: an API server that is asked one thing after another. */
#pragma once

#include "kube_client.h"

struct cluster_session {
        struct loop *loop;
        struct kube_config config;
        struct kube_client *client;
};

/* kubeconfig: as kube_config_load() takes it. The caller closes it, also after a failure. */
int cluster_session_open(const char *kubeconfig, struct cluster_session *ret_session,
                         struct err *e);
void cluster_session_close(struct cluster_session *session);

/* *ret_body is the answer's, the caller's; NULL: it had none. -ENOENT: 404; -EACCES: 401 or 403; -EIO:
 * whatever else is no success. */
int cluster_session_call(struct cluster_session *session, const char *method, const char *path,
                         const json_t *body, json_t **ret_body, struct err *e);
/* What is there as text, the caller's; asked once, and for so long. passed_token: as kube_client.h has it. */
int cluster_session_text(struct cluster_session *session, const char *path,
                         const char *passed_token, unsigned timeout_ms, char **ret_text,
                         struct err *e);
/* Tells of every object of a list, page by page, so that a large cluster costs the memory of one. */
int cluster_session_each(struct cluster_session *session, const char *path,
                         int (*visit)(void *owner, const json_t *object), void *owner,
                         struct err *e);
