/* SPDX-License-Identifier: Apache-2.0 */
/* offered_check: what does kubelet itself give out? It may have forgotten a plugin to which it listens: when another
 * one of the same name ends, that one's resource is empty, whoever registered it last. */
#pragma once

#include "loop.h"
#include "podresources.pb-c.h"

struct offered_check;

/* path: kubelet's socket of pod-resources, which need not be there. on_offered is told every now and then; not while
 * kubelet does not answer. 0 or a negative errno. */
int offered_check_new(struct loop *loop, const char *path,
                      void (*on_offered)(void *owner,
                                         const V1__AllocatableResourcesResponse *offered),
                      void *owner, struct offered_check **ret_check);
void offered_check_free(struct offered_check *check); /* NULL is fine */

/* Does kubelet give out any of this resource? */
bool offered_check_has(const V1__AllocatableResourcesResponse *offered, const char *resource);
