/* Memory of other programming interfaces, imported: most was there before; what the driver takes for
 * it is measured. */
#include "limits.h"
#include "measured.h"
#include "presence.h"
#include "real.h"

static CUresult destroy(const void *memory)
{
        return real_cuda.cuDestroyExternalMemory((CUexternalMemory)(uintptr_t)memory);
}

CUresult hook_cuImportExternalMemory(cuImportExternalMemory_fn *real, CUexternalMemory *memory,
                                     const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description)
{
        struct measure measure;
        struct place place;
        CUresult r = measured_begin(&measure, &place);

        if (r != CUDA_SUCCESS)
                return r;
        r = real(memory, description);
        return measured_end(&measure, &place, r, r == CUDA_SUCCESS ? *memory : NULL,
                            HOLDING_IMPORTED, destroy);
}

CUresult hook_cuDestroyExternalMemory(cuDestroyExternalMemory_fn *real, CUexternalMemory memory)
{
        if (!limits_are_set())
                return real(memory);
        presence_enter();
        CUresult r = real(memory);
        if (r == CUDA_SUCCESS)
                measured_release(memory);
        presence_leave();
        return r;
}
