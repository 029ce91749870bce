/* measured: a call that makes an object of unknown size in the current context. */
#pragma once

#include "devices.h"
#include "measure.h"

/* Begins it. A call without a context is the driver's to refuse: `ret_place->context` is 0 then and
 * nothing is measured. */
CUresult measured_begin(struct measure *measure, struct place *ret_place);

/* Ends it: the object is held under its handle. `undo` takes it back if it does not fit. */
CUresult measured_end(struct measure *measure, const struct place *place, CUresult result,
                      const void *handle, enum holding_kind kind,
                      CUresult (*undo)(const void *handle));

/* After the driver destroyed it. */
void measured_release(const void *handle);
