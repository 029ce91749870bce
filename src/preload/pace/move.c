/* SPDX-License-Identifier: Apache-2.0 */
/* move: where copies count, and what a batch of them moves. */
#include "move.h"

void move_admit(CUstream stream, const void *real, uint64_t bytes, struct admission *ret_admission)
{
        const struct target target = devices_of_stream(stream);

        if (target.device_index >= 0 && limits_compute_has_copies((unsigned)target.device_index))
                batch_admit(stream, NULL, cost_key_move(real, bytes), ret_admission);
        else
                *ret_admission = (struct admission){ .device_index = DEVICES_NONE };
}

uint64_t move_batch(const size_t *sizes, size_t count)
{
        uint64_t bytes = 0;

        for (size_t i = 0; sizes && i < count; i++)
                bytes += sizes[i];
        return bytes;
}

uint64_t move_3d_batch(const CUDA_MEMCPY3D_BATCH_OP *copies, size_t count)
{
        uint64_t bytes = 0;

        for (size_t i = 0; copies && i < count; i++)
                bytes += copies[i].extent.width * copies[i].extent.height * copies[i].extent.depth;
        return bytes;
}
