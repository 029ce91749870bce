/* SPDX-License-Identifier: Apache-2.0 */
/* agent: asks vgpu-node which share a container has. */
#pragma once

#include "err.h"
#include "pod_identity.h"
#include "vgpu.pb-c.h"

/* *ret_answer goes to message_free(). A patient caller asks again while nobody answers or the agent
 * says UNAVAILABLE, until wait_ms have passed; another asks once. -ENOENT: the agent knows that
 * there is no share; -EAGAIN: nobody answered in time; any other: the answer is a refusal or none.
 * The sentence says who and why. */
int agent_ask(const char *socket, unsigned wait_ms, bool is_patient,
              const struct pod_identity *identity, const char *container_id,
              Vgpu__V1__GetAllocationResponse **ret_answer, struct err *e);
