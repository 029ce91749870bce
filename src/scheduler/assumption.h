/* SPDX-License-Identifier: Apache-2.0 */
/* Assumptions: allocations that are written, or may be, and that the watch has not confirmed yet. If it does not
 * confirm one in time, the scheduler GETs the pod: the pod's annotation counts. */
#pragma once

#include "kube_client.h"

struct assumptions;

/* Tells what has the pod's name now; NULL: nothing. Never from inside a call. */
int assumptions_new(struct kube_client *client, uint64_t patience_ns,
                    void (*on_seen)(void *owner, const char *uid, const json_t *pod), void *owner,
                    struct assumptions **ret_assumptions);
void assumptions_free(struct assumptions *assumptions); /* NULL is fine */

/* From now on it is waited for; anew, if it was already. 0 or -ENOMEM. */
int assumptions_note(struct assumptions *assumptions, const char *uid, const char *namespace_name,
                     const char *pod);
void assumptions_forget(struct assumptions *assumptions, const char *uid); /* not noted: fine */
