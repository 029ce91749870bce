/* SPDX-License-Identifier: Apache-2.0 */
/* array_need: what an array holds at least: its elements, in rows as the driver pads them. */
#pragma once

#include "gate_memory.h"

/* In granules. 0: nothing is known (a format of a newer driver; memory that is mapped later). */
uint64_t array_need(const CUDA_ARRAY3D_DESCRIPTOR *shape, unsigned levels);
uint64_t array_need_v1(const CUDA_ARRAY3D_DESCRIPTOR_v1 *shape);
/* Without a third dimension. */
uint64_t array_need_flat(const CUDA_ARRAY_DESCRIPTOR *shape);
uint64_t array_need_flat_v1(const CUDA_ARRAY_DESCRIPTOR_v1 *shape);
