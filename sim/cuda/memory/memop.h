/* SPDX-License-Identifier: Apache-2.0 */
/* Memory operations of streams: wait for a value, write a value. */
#pragma once

#include "work.h"

CUresult memop_check(const CUstreamBatchMemOpParams *ops, unsigned count);
CUresult memop_submit(struct stream *stream, const CUstreamBatchMemOpParams *ops, unsigned count);
