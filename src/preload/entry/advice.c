/* SPDX-License-Identifier: Apache-2.0 */
/* Advice and prefetches: hints, which may not bring onto a GPU what is charged to the host or to another
 * GPU. What passes for device memory answers them as device memory does. */
#include "real.h"
#include "virtual_range.h"

static CUmemLocation location_of(CUdevice device)
{
        if (device == CU_DEVICE_CPU)
                return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST };
        return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
}

/* Whom the advice lets the pages come to: a GPU's number, or one of these. */
enum { NO_ORDINAL = -1, ANY_ORDINAL = -2 };

static int location_ordinal(CUmemLocation location)
{
        return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : NO_ORDINAL;
}

static int advice_ordinal(CUmem_advise advice, CUmemLocation location)
{
        switch (advice) {
        case CU_MEM_ADVISE_SET_READ_MOSTLY: /* copies on every GPU that reads */
        case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
                return ANY_ORDINAL;
        case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
                return location_ordinal(location);
        default:
                return NO_ORDINAL;
        }
}

/* What is to be done with a hint for [address, address + bytes). */
enum hint { HINT_PASS, HINT_IGNORE, HINT_INVALID };

static enum hint hint_judge(CUdeviceptr address, size_t bytes, int ordinal)
{
        struct virtual_range range;

        if (!virtual_range_is_any() || !virtual_range_find(address, bytes, &range))
                return HINT_PASS;
        if (range.is_fallback)
                return HINT_INVALID;
        if (ordinal == NO_ORDINAL)
                return HINT_PASS;
        /* Its first bytes are the GPU's, and no other GPU's. */
        bool is_home = ordinal == ANY_ORDINAL ? !range.is_steady : ordinal == range.home;
        return is_home && virtual_range_pin(range.address, address + bytes) ? HINT_PASS
                                                                            : HINT_IGNORE;
}

static CUresult hint_result(enum hint hint)
{
        return hint == HINT_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult hook_cuMemAdvise(cuMemAdvise_fn *real, CUdeviceptr address, size_t bytes,
                          CUmem_advise advice, CUdevice device)
{
        enum hint hint = hint_judge(address, bytes, advice_ordinal(advice, location_of(device)));

        return hint == HINT_PASS ? real(address, bytes, advice, device) : hint_result(hint);
}

CUresult hook_cuMemAdvise_v2(cuMemAdvise_v2_fn *real, CUdeviceptr address, size_t bytes,
                             CUmem_advise advice, CUmemLocation location)
{
        enum hint hint = hint_judge(address, bytes, advice_ordinal(advice, location));

        return hint == HINT_PASS ? real(address, bytes, advice, location) : hint_result(hint);
}

CUresult hook_cuMemPrefetchAsync(cuMemPrefetchAsync_fn *real, CUdeviceptr address, size_t bytes,
                                 CUdevice device, CUstream stream)
{
        enum hint hint = hint_judge(address, bytes, location_ordinal(location_of(device)));

        return hint == HINT_PASS ? real(address, bytes, device, stream) : hint_result(hint);
}

CUresult hook_cuMemPrefetchAsync_v2(cuMemPrefetchAsync_v2_fn *real, CUdeviceptr address,
                                    size_t bytes, CUmemLocation location, unsigned int flags,
                                    CUstream stream)
{
        enum hint hint = hint_judge(address, bytes, location_ordinal(location));

        return hint == HINT_PASS ? real(address, bytes, location, flags, stream)
                                 : hint_result(hint);
}

/* The location of the batch's range with this index: the last that starts at or before it. */
static const CUmemLocation *batch_location(const CUmemLocation *locations, const size_t *starts,
                                           size_t count, size_t index)
{
        const CUmemLocation *location = NULL;

        for (size_t i = 0; i < count && starts[i] <= index; i++)
                location = &locations[i];
        return location;
}

/* The hint that the strictest of the batch's ranges gets. */
static enum hint batch_judge(const CUdeviceptr *addresses, const size_t *sizes, size_t count,
                             const CUmemLocation *locations, const size_t *starts,
                             size_t location_count)
{
        enum hint strictest = HINT_PASS;

        if (!virtual_range_is_any() || !addresses || !sizes || !locations || !starts)
                return HINT_PASS;
        for (size_t i = 0; i < count; i++) {
                const CUmemLocation *to = batch_location(locations, starts, location_count, i);
                enum hint hint =
                        hint_judge(addresses[i], sizes[i], to ? location_ordinal(*to) : NO_ORDINAL);
                strictest = hint > strictest ? hint : strictest;
        }
        return strictest;
}

/* One by one, without those that may not come onto the GPU. */
static CUresult batch_prefetch(const CUdeviceptr *addresses, const size_t *sizes, size_t count,
                               const CUmemLocation *locations, const size_t *starts,
                               size_t location_count, CUstream stream)
{
        CUresult r = CUDA_SUCCESS;

        for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
                const CUmemLocation *to = batch_location(locations, starts, location_count, i);
                if (!to)
                        return CUDA_ERROR_INVALID_VALUE;
                r = hook_cuMemPrefetchAsync_v2(real_cuda.cuMemPrefetchAsync_v2, addresses[i],
                                               sizes[i], *to, 0, stream);
        }
        return r;
}

CUresult hook_cuMemPrefetchBatchAsync(cuMemPrefetchBatchAsync_fn *real, CUdeviceptr *addresses,
                                      size_t *sizes, size_t count, CUmemLocation *locations,
                                      size_t *starts, size_t location_count,
                                      unsigned long long flags, CUstream stream)
{
        enum hint hint = batch_judge(addresses, sizes, count, locations, starts, location_count);

        if (hint == HINT_PASS)
                return real(addresses, sizes, count, locations, starts, location_count, flags,
                            stream);
        if (hint == HINT_INVALID || flags)
                return CUDA_ERROR_INVALID_VALUE;
        if (!stream && real == real_cuda.cuMemPrefetchBatchAsync_ptsz)
                stream = CU_STREAM_PER_THREAD;
        return batch_prefetch(addresses, sizes, count, locations, starts, location_count, stream);
}

/* Contents that may be lost may also be kept. */
CUresult hook_cuMemDiscardAndPrefetchBatchAsync(cuMemDiscardAndPrefetchBatchAsync_fn *real,
                                                CUdeviceptr *addresses, size_t *sizes, size_t count,
                                                CUmemLocation *locations, size_t *starts,
                                                size_t location_count, unsigned long long flags,
                                                CUstream stream)
{
        return hook_cuMemPrefetchBatchAsync(
                real, addresses, sizes, count, locations, starts, location_count, flags,
                !stream && real == real_cuda.cuMemDiscardAndPrefetchBatchAsync_ptsz
                        ? CU_STREAM_PER_THREAD
                        : stream);
}

/* What passes for device memory has none of the properties of managed memory. */
static bool passes_for_device(CUdeviceptr address, size_t bytes)
{
        return hint_judge(address, bytes ? bytes : 1, NO_ORDINAL) == HINT_INVALID;
}

CUresult hook_cuMemDiscardBatchAsync(cuMemDiscardBatchAsync_fn *real, CUdeviceptr *addresses,
                                     size_t *sizes, size_t count, unsigned long long flags,
                                     CUstream stream)
{
        for (size_t i = 0; addresses && sizes && i < count; i++)
                if (passes_for_device(addresses[i], sizes[i]))
                        return CUDA_ERROR_INVALID_VALUE;
        return real(addresses, sizes, count, flags, stream);
}

CUresult hook_cuMemRangeGetAttribute(cuMemRangeGetAttribute_fn *real, void *value, size_t size,
                                     CUmem_range_attribute attribute, CUdeviceptr address,
                                     size_t bytes)
{
        return passes_for_device(address, bytes) ? CUDA_ERROR_INVALID_VALUE
                                                 : real(value, size, attribute, address, bytes);
}

CUresult hook_cuMemRangeGetAttributes(cuMemRangeGetAttributes_fn *real, void **values,
                                      size_t *sizes, CUmem_range_attribute *attributes,
                                      size_t count, CUdeviceptr address, size_t bytes)
{
        return passes_for_device(address, bytes)
                       ? CUDA_ERROR_INVALID_VALUE
                       : real(values, sizes, attributes, count, address, bytes);
}

CUresult hook_cuStreamAttachMemAsync(cuStreamAttachMemAsync_fn *real, CUstream stream,
                                     CUdeviceptr address, size_t bytes, unsigned int flags)
{
        return passes_for_device(address, bytes) ? CUDA_ERROR_INVALID_VALUE
                                                 : real(stream, address, bytes, flags);
}
