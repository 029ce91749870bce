/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_view: what a container sees of a GPU through NVML: its share and its own processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload_nvml.h"

/* The device index behind a handle; DEVICES_NONE: the share does not name the device. */
int nvml_view_device_index(nvmlDevice_t device);

/* Is there a container to see? Opens its region; without limits everything passes as it is. */
bool nvml_view_is_limited(void);

/* Keeps the container's own among `count` entries of `stride` bytes, each with its pid at `offset`;
 * moves them to the front, under the pids by which the container knows them, and returns how many. */
unsigned nvml_view_keep_own(void *entries, unsigned count, size_t stride, size_t offset);

/* A buffer for all entries that the library may have, each of `stride` bytes with its pid at `pid`: how many there
 * are is the strangers' business, too. */
struct nvml_buffer {
        size_t stride, pid;
        void *entries;
        unsigned count; /* for so many */
};

bool nvml_buffer_make(struct nvml_buffer *buffer);
void nvml_buffer_done(struct nvml_buffer *buffer);
/* Of the `found` entries in the buffer, those of the container, as the library would have answered: their
 * number, or INSUFFICIENT_SIZE where the caller's *count are too few. */
nvmlReturn_t nvml_buffer_answer(struct nvml_buffer *buffer, unsigned found, unsigned *count,
                                void *entries);

typedef nvmlReturn_t nvml_list_fn(nvmlDevice_t device, unsigned *count, void *entries);

/* Asks for the whole list (entries of `stride` bytes that begin with a pid), keeps what is ours, and
 * answers as the library would have: the number, or INSUFFICIENT_SIZE where the buffer is too small. */
nvmlReturn_t nvml_view_list(nvml_list_fn *real, nvmlDevice_t device, unsigned *count, void *entries,
                            size_t stride);
