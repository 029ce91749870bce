/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at a pod once all mutating webhooks are done, and at every change of it later. */
#pragma once

#include "rules.h"

/* A pod at CREATE: no later webhook undid its completion. */
int validate_pod(json_t *pod, const struct rules *rules, struct err *e);
/* A change: reserved annotations by our programs only, ceilings by nobody, sizes within ceilings. */
int validate_change(json_t *pod, const json_t *old, const char *user, const struct rules *rules,
                    struct err *e);
/* A Binding: only vgpu-scheduler may write the allocation that it carries. */
int validate_binding(const json_t *binding, const char *pod_namespace, const char *user,
                     const struct rules *rules, struct err *e);
