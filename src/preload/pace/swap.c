/* SPDX-License-Identifier: Apache-2.0 */
/* swap: at the change of hands; see swap.h. */
#include "swap.h"

#include "devices.h"
#include "holding_table.h"
#include "ledger.h"
#include "real.h"

enum { RANGES_MOST = 64 };

static CUresult prefetch(uint64_t address, uint64_t bytes, int ordinal, CUstream stream)
{
        const CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal };

        if (real_cuda.cuMemPrefetchAsync)
                return real_cuda.cuMemPrefetchAsync(address, bytes, ordinal, stream);
        return real_cuda.cuMemPrefetchAsync_v2
                       ? real_cuda.cuMemPrefetchAsync_v2(address, bytes, location, 0, stream)
                       : CUDA_ERROR_NOT_SUPPORTED;
}

/* What was freed since it was listed is refused by the driver: nothing is lost. What virtual memory
 * keeps on the host (virtual.h) stays there: the GPU's part is full. */
void swap_in(CUstream stream)
{
        const struct target target = devices_of_stream(stream);
        struct holding ranges[RANGES_MOST];

        if (target.device_index < 0)
                return;
        const unsigned count =
                holding_list(HOLDING_MANAGED, (unsigned)target.device_index, ranges, RANGES_MOST);
        for (unsigned i = 0; i < count; i++) {
                const uint64_t bytes = ranges[i].bytes;

                /* What is charged is whole granules; the last may not be all the program's. */
                if (prefetch(ranges[i].key, bytes, target.ordinal, stream) != CUDA_SUCCESS &&
                    bytes > LEDGER_GRANULE_BYTES)
                        prefetch(ranges[i].key, bytes - LEDGER_GRANULE_BYTES, target.ordinal,
                                 stream);
        }
        /* The time slice is ours and the device has nothing else of us: work of other streams waits, too. */
        if (count)
                real_cuda.cuStreamSynchronize(stream);
}
