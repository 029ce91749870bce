/* SPDX-License-Identifier: Apache-2.0 */
/* The host has waited for a stream, an event or a context. */
#pragma once

/* Pools give back what their threshold does not keep. Defined by memory, which is above streams. */
void sync_point_reached(void);
