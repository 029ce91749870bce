/* SPDX-License-Identifier: Apache-2.0 */
/* A Kubernetes quantity that must be a whole number: "1", "2000m", "1k", "1e1", "1Ki". */
#pragma once

#include <stdint.h>

#include "err.h"

/* -EINVAL: no quantity; -EDOM: not whole, or negative; -ERANGE: more than 2⁶³ − 1. Exact: nothing is
 * rounded. The sentence quotes the text. */
int amount_parse(const char *text, int64_t *ret_amount, struct err *e);
