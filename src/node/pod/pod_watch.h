/* SPDX-License-Identifier: Apache-2.0 */
/* pod_watch: the pods of this node, as the API server lists them; their containers' shares are made,
 * changed and removed accordingly. While the API server is away, all stays as it is. */
#pragma once

#include "gpu.h"
#include "kube_watch.h"
#include "log_limit.h"
#include "share_book.h"
#include "share_content.h"
#include "share_fit.h"

struct pod_watch;

struct pod_watch_options {
        struct kube_client *client;
        struct share_book *shares;
        const struct gpu_set *gpus; /* the caller's, as they are now */
        struct share_fit *fit;      /* outlives the watch, and learns which pods there are */
        const char *node_name;
        struct share_terms terms;
        struct log_limit *refusal_log; /* the watch's own */
};

int pod_watch_new(const struct pod_watch_options *options, struct pod_watch **ret_watch);
void pod_watch_free(struct pod_watch *watch); /* NULL is fine */
struct kube_watch_state pod_watch_state(const struct pod_watch *watch);

/* A pod that vgpu-scheduler told of before the watch did: its shares are made at once. If the watch does not
 * confirm it, the pod was over. */
void pod_watch_learn(struct pod_watch *watch, const json_t *pod);

/* Why a container has no share. -EAGAIN: its pod has not been seen yet; -ENOENT: it was given none;
 * -EINVAL: it was to have one, and the sentence says what is wrong. */
int pod_watch_explain(const struct pod_watch *watch, const char *pod_uid, const char *container,
                      struct err *e);
