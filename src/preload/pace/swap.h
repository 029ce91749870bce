/* SPDX-License-Identifier: Apache-2.0 */
/* swap: managed memory that others pushed off the GPU during their time slice. */
#pragma once

#include "preload_cuda.h"

/* Brings the program's managed memory on the stream's device back, before what the stream does next: by
 * prefetch, at the speed of the link; kernels would fetch it page by page. */
void swap_in(CUstream stream);
