/* SPDX-License-Identifier: Apache-2.0 */
/* swap: at the change of hands; see swap.h. */
#include "swap.h"

#include "devices.h"
#include "holding_table.h"
#include "ledger.h"
#include "managed_memory.h"
#include "virtual_range.h"

enum { RANGES_MOST = 64, /* at a time */ MANAGED_MOST = 256 };

/* What the program asked for by name, and which fits the GPU's part. */
static unsigned managed_in(const struct target *target, CUstream stream)
{
        struct holding ranges[MANAGED_MOST];
        const unsigned count =
                holding_list(HOLDING_MANAGED, (unsigned)target->device_index, ranges, MANAGED_MOST);

        for (unsigned i = 0; i < count; i++) {
                const uint64_t bytes = ranges[i].bytes;

                /* What is charged is whole granules; the last may not be all the program's. */
                if (managed_prefetch(ranges[i].key, bytes, target->ordinal, stream) !=
                            CUDA_SUCCESS &&
                    bytes > LEDGER_GRANULE_BYTES)
                        managed_prefetch(ranges[i].key, bytes - LEDGER_GRANULE_BYTES,
                                         target->ordinal, stream);
        }
        return count;
}

/* What is charged to the GPU of virtual memory. The remainder stays on the host: the GPU's part is full. */
static unsigned ranges_in(const struct target *target, CUstream stream)
{
        struct virtual_range ranges[RANGES_MOST];
        unsigned count, sum = 0;
        uint64_t address = 0;

        do {
                count = virtual_range_list((unsigned)target->device_index, address, ranges,
                                           RANGES_MOST);
                for (unsigned i = 0; i < count; i++) {
                        const struct virtual_range *range = &ranges[i];
                        const uint64_t bytes = range->device_bytes < range->bytes
                                                       ? range->device_bytes
                                                       : range->bytes;

                        address = range->address;
                        if (bytes && range->home == target->ordinal)
                                managed_prefetch(address, bytes, target->ordinal, stream);
                }
                sum += count;
        } while (count == RANGES_MOST);
        return sum;
}

/* What was freed since it was listed is refused by the driver: nothing is lost. */
void swap_in(CUstream stream)
{
        const struct target target = devices_of_stream(stream);

        if (target.device_index < 0)
                return;
        const unsigned count = managed_in(&target, stream) + ranges_in(&target, stream);
        /* The time slice is ours and the device has nothing else of us: work of other streams waits, too. */
        if (count)
                real_cuda.cuStreamSynchronize(stream);
}
