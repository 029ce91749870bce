/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of graphs: one address for a graph, its clones and its instances. */
#pragma once

#include <stdbool.h>

#include "cuda_types.h"

struct allocation;

/* cuMemFree and cuMemFreeAsync of memory that a graph allocated and did not free. */
CUresult graph_memory_free(struct allocation *allocation);
