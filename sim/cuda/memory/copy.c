/* SPDX-License-Identifier: Apache-2.0 */
/* Copies as work: which engine, how long, and when the program may go on. */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "copy_shape.h"

#define COPY_NS          2000
#define HOST_BYTES_PER_S UINT64_C(10000000000)
#define LINK_BYTES_PER_S UINT64_C(25000000000) /* of one NVLink */
#define SNAPSHOT_BYTES   UINT64_C(65536)

struct copy {
        struct shape shape;
        uint64_t bytes;
        void *snapshot; /* the source, if the program may overwrite its own */
};

static void copy_free(void *closure)
{
        struct copy *copy = closure;

        free(copy->snapshot);
        free(copy);
}

static CUresult copy_run(void *closure, uint64_t *ret_duration_ns)
{
        struct copy *copy = closure;

        (void)ret_duration_ns;
        machine_count(&driver.machine, COUNTER_COPIED_BYTES, copy->bytes);
        return shape_copy(&copy->shape);
}

static bool shape_is_empty(const struct shape *shape)
{
        return !shape->width || !shape->rows || !shape->planes;
}

static uint64_t shape_bytes(const struct shape *shape)
{
        return shape->width * shape->rows * shape->planes;
}

static bool shape_is_pageable(const struct shape *shape)
{
        return shape->from.kind == SIDE_PAGEABLE || shape->to.kind == SIDE_PAGEABLE;
}

static uint64_t peer_rate(const struct machine_gpu *gpu)
{
        uint64_t links = gpu->link_count * LINK_BYTES_PER_S;

        return links > gpu->out_bytes_per_s ? links : gpu->out_bytes_per_s;
}

/* Engine and time of a copy, seen from the stream's device. */
static void shape_cost(const struct shape *shape, const struct device *device, struct work *work)
{
        const struct machine_gpu *gpu = device_gpu(device);
        bool is_from = shape->from.kind == SIDE_DEVICE, is_to = shape->to.kind == SIDE_DEVICE;
        uint64_t rate;

        if (is_from && is_to && shape->from.device && shape->to.device &&
            shape->from.device->unit != shape->to.device->unit) {
                work->engine = ENGINE_OUT;
                rate = peer_rate(gpu);
        } else if (is_from && is_to) {
                work->engine = ENGINE_COMPUTE;
                rate = gpu->memory_bytes_per_s / 2;
        } else if (is_to) {
                work->engine = ENGINE_IN;
                rate = gpu->in_bytes_per_s;
        } else if (is_from) {
                work->engine = ENGINE_OUT;
                rate = gpu->out_bytes_per_s;
        } else {
                work->engine = ENGINE_IN;
                rate = HOST_BYTES_PER_S;
        }
        /* The driver copies pageable memory through a buffer of its own. */
        if (is_from != is_to && shape_is_pageable(shape))
                rate /= 2;
        work->duration_ns =
                COPY_NS + (rate ? (uint64_t)((double)shape_bytes(shape) * 1e9 / (double)rate) : 0);
}

static CUresult shape_submit(struct stream *stream, const struct shape *shape, void *snapshot,
                             struct mark *ret_mark)
{
        struct copy *copy = malloc(sizeof *copy);

        if (!copy) {
                free(snapshot);
                return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *copy = (struct copy){ .shape = *shape, .bytes = shape_bytes(shape), .snapshot = snapshot };
        if (snapshot) {
                copy->shape.from.address = (uintptr_t)snapshot;
                copy->shape.from.pitch = shape->width;
                copy->shape.from.slice = shape->width * shape->rows;
        }
        struct work work = { .run = copy_run, .free = copy_free, .closure = copy };
        shape_cost(shape, stream->context->device, &work);
        return work_submit(stream, &work, ret_mark);
}

CUresult copy_check(const CUDA_MEMCPY3D_PEER *copy)
{
        struct shape shape;

        return shape_of(copy, &shape);
}

CUresult copy_submit(struct stream *stream, const CUDA_MEMCPY3D_PEER *copy, struct mark *ret_mark)
{
        struct shape shape;
        CUresult r = shape_of(copy, &shape);

        if (r != CUDA_SUCCESS)
                return r;
        if (shape_is_empty(&shape)) {
                struct work nothing = { .engine = ENGINE_IN };
                return work_submit(stream, &nothing, ret_mark);
        }
        return shape_submit(stream, &shape, NULL, ret_mark);
}

/* The source rows, one after the other; NULL: no memory. */
static void *shape_snapshot(const struct shape *shape)
{
        char *rows = malloc(shape_bytes(shape));
        char *to = rows;

        if (!rows)
                return NULL;
        for (size_t z = 0; z < shape->planes; z++)
                for (size_t y = 0; y < shape->rows; y++, to += shape->width)
                        memcpy(to,
                               (const char *)(uintptr_t)shape->from.address +
                                       z * shape->from.slice + y * shape->from.pitch,
                               shape->width);
        return rows;
}

/* Submits and waits. With nothing pending the bytes move here: only the time is left to pass. */
static CUresult shape_call(struct stream *stream, const struct shape *shape)
{
        struct mark mark = { 0 };
        CUresult r;

        if (stream_is_idle(stream)) {
                struct work work = { 0 };
                shape_cost(shape, stream->context->device, &work);
                r = work_submit(stream, &work, &mark);
                if (r == CUDA_SUCCESS)
                        r = shape_copy(shape);
                machine_count(&driver.machine, COUNTER_COPIED_BYTES, shape_bytes(shape));
        } else {
                r = shape_submit(stream, shape, NULL, &mark);
        }
        if (r == CUDA_SUCCESS)
                r = mark_wait(&mark);
        mark_done(&mark);
        return r;
}

/* Pageable memory is read before the call returns, and written before it returns. */
static CUresult shape_call_async(struct stream *stream, const struct shape *shape)
{
        void *snapshot = NULL;

        if (!shape_is_pageable(shape))
                return shape_submit(stream, shape, NULL, NULL);
        if (shape->to.kind == SIDE_PAGEABLE || shape_bytes(shape) > SNAPSHOT_BYTES)
                return shape_call(stream, shape);
        snapshot = shape_snapshot(shape);
        return snapshot ? shape_submit(stream, shape, snapshot, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult copy_call(CUstream handle, const CUDA_MEMCPY3D_PEER *copy, bool is_async)
{
        struct stream *stream;
        struct shape shape;
        CUresult r = stream_get(handle, &stream);

        if (r == CUDA_SUCCESS && !copy)
                r = CUDA_ERROR_INVALID_VALUE;
        if (r == CUDA_SUCCESS && !is_async)
                r = capture_forbids();
        if (r == CUDA_SUCCESS)
                r = shape_of(copy, &shape);
        if (r != CUDA_SUCCESS || shape_is_empty(&shape))
                return r;
        if (is_async && capture_is_active(stream))
                return capture_add_copy(stream, copy);
        /* Within the GPU the program need not wait, even if it asked for a synchronous copy. */
        if (!is_async && shape.from.kind == SIDE_DEVICE && shape.to.kind == SIDE_DEVICE)
                return shape_submit(stream, &shape, NULL, NULL);
        return is_async ? shape_call_async(stream, &shape) : shape_call(stream, &shape);
}
