/* SPDX-License-Identifier: Apache-2.0 */
/* refusal: counts what the limit refuses, and says why memory was refused: once per process, and every time at
 * level debug. */
#pragma once

#include <stdint.h>

enum refusal_by {
        REFUSAL_LIMIT,
        REFUSAL_DRIVER, /* it is within the limit, but the GPU is full */
        REFUSALS,
};

/* What was asked, what is held, the limit, and who refused. device_index < 0: the share has no part of the GPU. */
void refusal_tell(int device_index, uint64_t bytes, enum refusal_by by);
/* By the limit, of what the driver has taken already: it still counts among what is held, and is given back. */
void refusal_tell_taken(int device_index, uint64_t bytes);
