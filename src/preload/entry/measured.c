/* measured: modules, libraries, arrays. */
#include "measured.h"

#include "limits.h"
#include "presence.h"

CUresult measured_begin(struct measure *measure, struct place *ret_place)
{
        *measure = (struct measure){ 0 };
        *ret_place = devices_current();
        return ret_place->context ? measure_begin(measure, ret_place->ordinal, 0) : CUDA_SUCCESS;
}

CUresult measured_end(struct measure *measure, const struct place *place, CUresult result,
                      const void *handle, enum holding_kind kind,
                      CUresult (*undo)(const void *handle))
{
        uint64_t key = (uint64_t)(uintptr_t)handle;
        CUresult r = measure_end(measure, result, key, place->context, kind);

        if (result == CUDA_SUCCESS && r != CUDA_SUCCESS) {
                presence_enter();
                undo(handle);
                ledger_release(key);
                presence_leave();
        }
        return r;
}

void measured_release(const void *handle)
{
        if (limits_are_set())
                ledger_release((uint64_t)(uintptr_t)handle);
}
