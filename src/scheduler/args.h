/* SPDX-License-Identifier: Apache-2.0 */
/* Args: what kube-scheduler asks of filter and prioritize, cut into its parts. Names of thousands of
 * nodes stay text: a tree of them would cost more than all that is done with them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"

struct args {
        json_t *pod;                   /* NULL: there is none */
        const char *names, *names_end; /* what stands between the brackets of NodeNames */
};

/* -EINVAL: it is none. The text stays the caller's, and is needed as long as the args. The pod is made a tree
 * without the members of these names; NULL: with all. */
int args_read(const char *text, size_t count, const char *const *without, struct args *ret_args,
              struct err *e);
void args_done(struct args *args);

/* The next name, not ended by NUL; false: that was all. *at begins with args->names. */
bool args_next(const struct args *args, const char **at, const char **ret_name, size_t *ret_count);
