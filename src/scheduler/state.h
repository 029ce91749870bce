/* SPDX-License-Identifier: Apache-2.0 */
/* State: the cluster as the API server tells it, and the pods that wait to be placed. */
#pragma once

#include "cluster.h"
#include "kube_client.h"
#include "pod_ref.h"
#include "request_cache.h"

struct state;

/* Watches nodes and pods from now on. `with_gpu`: also share nvidia.com/gpu. `patience_ns`: how long the
 * watch may take to confirm an allocation. */
int state_new(struct kube_client *client, bool with_gpu, uint64_t patience_ns,
              struct state **ret_state);
void state_free(struct state *state); /* NULL is fine */

/* Nodes and pods have been told once: decisions can be made. */
bool state_is_synced(const struct state *state);
/* Nodes and pods that could not be read, or not as they were, so far. */
uint64_t state_bad_objects(const struct state *state);
struct cluster *state_cluster(struct state *state);
struct request_cache *state_request_cache(struct state *state);

/* There was no memory for something of a pod: all are told again, and until then nothing is decided. */
void state_repeat_pods(struct state *state);

/* What a pod asks for that is not placed yet; NULL: it is not known. */
const struct gpu_request *state_request(const struct state *state, const char *pod_uid);
/* A pod that kube-scheduler told of before the watch did. */
void state_note_request(struct state *state, const char *pod_uid, struct request_class *class);

/* A pod as the API server has it now, from elsewhere than the watch. */
void state_note_pod(struct state *state, const json_t *pod);

/* The pod's Binding is written, or its outcome is unknown. If the watch does not confirm the allocation in time, the
 * scheduler GETs the pod and releases what it does not have. */
void state_await(struct state *state, const char *uid, const char *namespace_name, const char *pod);
void state_await_not(struct state *state, const char *uid); /* it is decided anew */

/* A pod found no node. kube-scheduler tries it again when a pod goes or a node tells of GPUs, often
 * before we hear of that, and then not for minutes: so where capacity is freed just after a refusal, its
 * node is touched, which makes kube-scheduler ask again. */
void state_note_refusal(struct state *state);
/* Nothing is written while it is false (at first it is true). */
void state_set_active(struct state *state, bool is_active);

/* The node is touched shortly, so that kube-scheduler asks again for the pods that wait. */
void state_ask_again(struct state *state, const char *node);

/* Told of every pod that is not placed, when the watch tells of it; NULL: nobody. */
void state_on_waiting(struct state *state,
                      void (*on_waiting)(void *owner, const struct pod_ref *pod_ref,
                                         const struct gpu_request *gpu_request),
                      void *owner);

/* Told of every pod that is on its node and asks for GPUs, and with a NULL pod when it is gone. */
void state_on_placed(struct state *state,
                     void (*on_placed)(void *owner, const char *uid, const json_t *pod),
                     void *owner);
