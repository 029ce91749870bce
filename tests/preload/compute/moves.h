/* SPDX-License-Identifier: Apache-2.0 */
/* moves: every copy and fill of the driver, called once each on what a mover has. */
#pragma once

#include "worker.h"

enum { SIDE = 256, BYTES = SIDE * SIDE };

struct mover {
        struct worker worker;
        CUdeviceptr device, other;
        CUdeviceptr_v1 old, old_other; /* of 32 bits */
        CUarray array, other_array;
        void *host, *other_host;
        CUDA_MEMCPY2D flat;
        CUDA_MEMCPY2D_v1 old_flat;
        CUDA_MEMCPY3D deep;
        CUDA_MEMCPY3D_v1 old_deep;
        CUDA_MEMCPY3D_PEER peer;
        CUDA_MEMCPY3D_BATCH_OP batch;
        size_t sizes[1];
        CUmemcpyAttributes attributes;
        size_t first;
};

#define CONTEXT m->worker.contexts[0]
#define STREAM  m->worker.stream
#define HOST    (CUdeviceptr)(uintptr_t) m->host

/* ONE(name, arguments): every function of the family, and its twin for per-thread streams. */
#define MOVES                                                                                 \
        ONE(cuMemcpy, (m->device, HOST, BYTES))                                               \
        ONE(cuMemcpy_ptds, (m->device, HOST, BYTES))                                          \
        ONE(cuMemcpyAsync, (m->device, HOST, BYTES, STREAM))                                  \
        ONE(cuMemcpyAsync_ptsz, (m->device, HOST, BYTES, NULL))                               \
        ONE(cuMemcpyHtoD, (m->old, m->host, BYTES))                                           \
        ONE(cuMemcpyHtoD_v2, (m->device, m->host, BYTES))                                     \
        ONE(cuMemcpyHtoD_v2_ptds, (m->device, m->host, BYTES))                                \
        ONE(cuMemcpyHtoDAsync, (m->old, m->host, BYTES, STREAM))                              \
        ONE(cuMemcpyHtoDAsync_v2, (m->device, m->host, BYTES, STREAM))                        \
        ONE(cuMemcpyHtoDAsync_v2_ptsz, (m->device, m->host, BYTES, NULL))                     \
        ONE(cuMemcpyDtoH, (m->host, m->old, BYTES))                                           \
        ONE(cuMemcpyDtoH_v2, (m->host, m->device, BYTES))                                     \
        ONE(cuMemcpyDtoH_v2_ptds, (m->host, m->device, BYTES))                                \
        ONE(cuMemcpyDtoHAsync, (m->host, m->old, BYTES, STREAM))                              \
        ONE(cuMemcpyDtoHAsync_v2, (m->host, m->device, BYTES, STREAM))                        \
        ONE(cuMemcpyDtoHAsync_v2_ptsz, (m->host, m->device, BYTES, NULL))                     \
        ONE(cuMemcpyDtoD, (m->old, m->old_other, BYTES))                                      \
        ONE(cuMemcpyDtoD_v2, (m->device, m->other, BYTES))                                    \
        ONE(cuMemcpyDtoD_v2_ptds, (m->device, m->other, BYTES))                               \
        ONE(cuMemcpyDtoDAsync, (m->old, m->old_other, BYTES, STREAM))                         \
        ONE(cuMemcpyDtoDAsync_v2, (m->device, m->other, BYTES, STREAM))                       \
        ONE(cuMemcpyDtoDAsync_v2_ptsz, (m->device, m->other, BYTES, NULL))                    \
        ONE(cuMemcpyHtoA, (m->array, 0, m->host, BYTES))                                      \
        ONE(cuMemcpyHtoA_v2, (m->array, 0, m->host, BYTES))                                   \
        ONE(cuMemcpyHtoA_v2_ptds, (m->array, 0, m->host, BYTES))                              \
        ONE(cuMemcpyHtoAAsync, (m->array, 0, m->host, BYTES, STREAM))                         \
        ONE(cuMemcpyHtoAAsync_v2, (m->array, 0, m->host, BYTES, STREAM))                      \
        ONE(cuMemcpyHtoAAsync_v2_ptsz, (m->array, 0, m->host, BYTES, NULL))                   \
        ONE(cuMemcpyAtoH, (m->host, m->array, 0, BYTES))                                      \
        ONE(cuMemcpyAtoH_v2, (m->host, m->array, 0, BYTES))                                   \
        ONE(cuMemcpyAtoH_v2_ptds, (m->host, m->array, 0, BYTES))                              \
        ONE(cuMemcpyAtoHAsync, (m->host, m->array, 0, BYTES, STREAM))                         \
        ONE(cuMemcpyAtoHAsync_v2, (m->host, m->array, 0, BYTES, STREAM))                      \
        ONE(cuMemcpyAtoHAsync_v2_ptsz, (m->host, m->array, 0, BYTES, NULL))                   \
        ONE(cuMemcpyDtoA, (m->array, 0, m->old, BYTES))                                       \
        ONE(cuMemcpyDtoA_v2, (m->array, 0, m->device, BYTES))                                 \
        ONE(cuMemcpyDtoA_v2_ptds, (m->array, 0, m->device, BYTES))                            \
        ONE(cuMemcpyAtoD, (m->old, m->array, 0, BYTES))                                       \
        ONE(cuMemcpyAtoD_v2, (m->device, m->array, 0, BYTES))                                 \
        ONE(cuMemcpyAtoD_v2_ptds, (m->device, m->array, 0, BYTES))                            \
        ONE(cuMemcpyAtoA, (m->array, 0, m->other_array, 0, BYTES))                            \
        ONE(cuMemcpyAtoA_v2, (m->array, 0, m->other_array, 0, BYTES))                         \
        ONE(cuMemcpyAtoA_v2_ptds, (m->array, 0, m->other_array, 0, BYTES))                    \
        ONE(cuMemcpyPeer, (m->device, CONTEXT, m->other, CONTEXT, BYTES))                     \
        ONE(cuMemcpyPeer_ptds, (m->device, CONTEXT, m->other, CONTEXT, BYTES))                \
        ONE(cuMemcpyPeerAsync, (m->device, CONTEXT, m->other, CONTEXT, BYTES, STREAM))        \
        ONE(cuMemcpyPeerAsync_ptsz, (m->device, CONTEXT, m->other, CONTEXT, BYTES, NULL))     \
        ONE(cuMemcpy2D, (&m->old_flat))                                                       \
        ONE(cuMemcpy2D_v2, (&m->flat))                                                        \
        ONE(cuMemcpy2D_v2_ptds, (&m->flat))                                                   \
        ONE(cuMemcpy2DUnaligned, (&m->old_flat))                                              \
        ONE(cuMemcpy2DUnaligned_v2, (&m->flat))                                               \
        ONE(cuMemcpy2DUnaligned_v2_ptds, (&m->flat))                                          \
        ONE(cuMemcpy2DAsync, (&m->old_flat, STREAM))                                          \
        ONE(cuMemcpy2DAsync_v2, (&m->flat, STREAM))                                           \
        ONE(cuMemcpy2DAsync_v2_ptsz, (&m->flat, NULL))                                        \
        ONE(cuMemcpy3D, (&m->old_deep))                                                       \
        ONE(cuMemcpy3D_v2, (&m->deep))                                                        \
        ONE(cuMemcpy3D_v2_ptds, (&m->deep))                                                   \
        ONE(cuMemcpy3DAsync, (&m->old_deep, STREAM))                                          \
        ONE(cuMemcpy3DAsync_v2, (&m->deep, STREAM))                                           \
        ONE(cuMemcpy3DAsync_v2_ptsz, (&m->deep, NULL))                                        \
        ONE(cuMemcpy3DPeer, (&m->peer))                                                       \
        ONE(cuMemcpy3DPeer_ptds, (&m->peer))                                                  \
        ONE(cuMemcpy3DPeerAsync, (&m->peer, STREAM))                                          \
        ONE(cuMemcpy3DPeerAsync_ptsz, (&m->peer, NULL))                                       \
        ONE(cuMemcpyBatchAsync,                                                               \
            (&m->device, &m->other, m->sizes, 1, &m->attributes, &m->first, 1, NULL, STREAM)) \
        ONE(cuMemcpyBatchAsync_v2,                                                            \
            (&m->device, &m->other, m->sizes, 1, &m->attributes, &m->first, 1, STREAM))       \
        ONE(cuMemcpy3DBatchAsync, (1, &m->batch, NULL, 0, STREAM))                            \
        ONE(cuMemcpy3DBatchAsync_v2, (1, &m->batch, 0, STREAM))                               \
        ONE(cuMemsetD8, (m->old, 1, BYTES))                                                   \
        ONE(cuMemsetD8_v2, (m->device, 1, BYTES))                                             \
        ONE(cuMemsetD8_v2_ptds, (m->device, 1, BYTES))                                        \
        ONE(cuMemsetD8Async, (m->device, 1, BYTES, STREAM))                                   \
        ONE(cuMemsetD8Async_ptsz, (m->device, 1, BYTES, NULL))                                \
        ONE(cuMemsetD16, (m->old, 1, BYTES / 2))                                              \
        ONE(cuMemsetD16_v2, (m->device, 1, BYTES / 2))                                        \
        ONE(cuMemsetD16_v2_ptds, (m->device, 1, BYTES / 2))                                   \
        ONE(cuMemsetD16Async, (m->device, 1, BYTES / 2, STREAM))                              \
        ONE(cuMemsetD16Async_ptsz, (m->device, 1, BYTES / 2, NULL))                           \
        ONE(cuMemsetD32, (m->old, 1, BYTES / 4))                                              \
        ONE(cuMemsetD32_v2, (m->device, 1, BYTES / 4))                                        \
        ONE(cuMemsetD32_v2_ptds, (m->device, 1, BYTES / 4))                                   \
        ONE(cuMemsetD32Async, (m->device, 1, BYTES / 4, STREAM))                              \
        ONE(cuMemsetD32Async_ptsz, (m->device, 1, BYTES / 4, NULL))                           \
        ONE(cuMemsetD2D8, (m->old, SIDE, 1, SIDE, SIDE))                                      \
        ONE(cuMemsetD2D8_v2, (m->device, SIDE, 1, SIDE, SIDE))                                \
        ONE(cuMemsetD2D8_v2_ptds, (m->device, SIDE, 1, SIDE, SIDE))                           \
        ONE(cuMemsetD2D8Async, (m->device, SIDE, 1, SIDE, SIDE, STREAM))                      \
        ONE(cuMemsetD2D8Async_ptsz, (m->device, SIDE, 1, SIDE, SIDE, NULL))                   \
        ONE(cuMemsetD2D16, (m->old, SIDE, 1, SIDE / 2, SIDE))                                 \
        ONE(cuMemsetD2D16_v2, (m->device, SIDE, 1, SIDE / 2, SIDE))                           \
        ONE(cuMemsetD2D16_v2_ptds, (m->device, SIDE, 1, SIDE / 2, SIDE))                      \
        ONE(cuMemsetD2D16Async, (m->device, SIDE, 1, SIDE / 2, SIDE, STREAM))                 \
        ONE(cuMemsetD2D16Async_ptsz, (m->device, SIDE, 1, SIDE / 2, SIDE, NULL))              \
        ONE(cuMemsetD2D32, (m->old, SIDE, 1, SIDE / 4, SIDE))                                 \
        ONE(cuMemsetD2D32_v2, (m->device, SIDE, 1, SIDE / 4, SIDE))                           \
        ONE(cuMemsetD2D32_v2_ptds, (m->device, SIDE, 1, SIDE / 4, SIDE))                      \
        ONE(cuMemsetD2D32Async, (m->device, SIDE, 1, SIDE / 4, SIDE, STREAM))                 \
        ONE(cuMemsetD2D32Async_ptsz, (m->device, SIDE, 1, SIDE / 4, SIDE, NULL))
