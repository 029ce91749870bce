/* SPDX-License-Identifier: Apache-2.0 */
/* context_charge: a context of any kind, from its making to its end. */
#pragma once

#include "measure.h"
#include "real.h"

/* Before it is made. The hook has called batch_leave(): the new context becomes current. What the last
 * context took is known to be needed: from the second on, one that does not fit is not even tried. */
CUresult context_charge_begin(struct measure *measure, CUdevice device);

/* After: it is held under its own handle, with the code of the libraries it can run. One that does not
 * fit is taken back at once by `undo`. */
CUresult context_charge_end(struct measure *measure, CUresult result, CUcontext context,
                            CUdevice device, CUresult (*undo)(CUcontext context, CUdevice device));
/* The same for a context that is destroyed as it was made. */
CUresult context_charge_created(struct measure *measure, CUresult result, const CUcontext *context);
