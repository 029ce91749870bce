/* SPDX-License-Identifier: Apache-2.0 */
/* metric_text: figures as Prometheus reads them (text format 0.0.4). All samples of one name stand
 * together, after their head. */
#pragma once

#include "str.h"

enum metric_type { METRIC_GAUGE, METRIC_COUNTER };

struct metric_label {
        const char *name, *value; /* a label without value ("") is left out */
};

/* Each 0 or -ENOMEM. */
int metric_head(struct str *out, const char *name, enum metric_type type, const char *help);
/* labels end with a row without name; NULL: none. Values may be any bytes: what is no UTF-8 becomes '?',
 * for one bad label would cost the reader all figures of the node. */
int metric_sample(struct str *out, const char *name, const struct metric_label *labels,
                  double value);
