/* SPDX-License-Identifier: Apache-2.0 */
/* kube_query: the paths of lists and watches. The query is "" or what selects objects. 0 or -ENOMEM. */
#pragma once

#include "str.h"

/* continuation NULL: the first page. */
int kube_query_list(struct str *to, const char *path, const char *query, unsigned page,
                    const char *continuation);
int kube_query_watch(struct str *to, const char *path, const char *query, unsigned seconds,
                     const char *version);
