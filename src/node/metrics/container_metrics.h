/* SPDX-License-Identifier: Apache-2.0 */
/* container_metrics: figures of the containers that have a share, of their devices and processes. */
#pragma once

#include "figure_sheet.h"
#include "gpu.h"
#include "node_usage.h"
#include "share_book.h"

enum { METRIC_PROCESSES = 64 }; /* of one container that have rows of their own */

/* Appends the text; rows begin with the labels of base. shares NULL: none are kept; set NULL: indices are not
 * known; usage NULL: nothing is sampled. 0 or -ENOMEM. */
int container_metrics_print(struct share_book *shares, const struct gpu_set *set,
                            struct node_usage *usage, const struct figure_row *base,
                            struct str *out);
