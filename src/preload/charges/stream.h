/* SPDX-License-Identifier: Apache-2.0 */
/* stream: what the charges must know of a stream. */
#pragma once

#include <stdbool.h>

#include "preload_cuda.h"

/* Captured, an allocation becomes a node of a graph. */
bool stream_is_captured(CUstream stream);

/* Makes the stream's context current if it is not; true: it must be popped again. */
bool stream_push_context(CUstream stream);
