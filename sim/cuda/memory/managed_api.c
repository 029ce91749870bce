/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemAllocManaged, advice, prefetch and what is known of ranges. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "lookup.h"
#include "managed.h"
#include "sim_cuda.h"

#define PREFETCH_NS 2000

CUresult sim_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
        struct context *context;
        CUresult r = context_need(&context);

        if (r == CUDA_SUCCESS)
                r = capture_forbids();
        if (r != CUDA_SUCCESS)
                return r;
        if (!dptr || !bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
                return CUDA_ERROR_INVALID_VALUE;
        return managed_alloc(context, bytesize, flags, dptr);
}

/* A location as a residence; RESIDENCE_NONE: there is no such location. */
static int residence_of(CUmemLocation location)
{
        switch (location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
                return driver_device(location.id) ? location.id : RESIDENCE_NONE;
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
                return RESIDENCE_HOST;
        default:
                return RESIDENCE_NONE;
        }
}

static CUmemLocation location_of(CUdevice device)
{
        if (device == CU_DEVICE_CPU)
                return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST };
        return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
}

static void page_advise(struct managed_page *page, CUmem_advise advice, int residence)
{
        bool is_set = advice == CU_MEM_ADVISE_SET_ACCESSED_BY;

        switch (advice) {
        case CU_MEM_ADVISE_SET_READ_MOSTLY:
        case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
                page->is_read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
                break;
        case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
                page->preferred = (int16_t)residence;
                break;
        case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
                page->preferred = RESIDENCE_NONE;
                break;
        default:
                if (residence == RESIDENCE_HOST)
                        page->is_accessed_by_host = is_set;
                else if (is_set)
                        page->accessed_by |= UINT64_C(1) << residence;
                else
                        page->accessed_by &= ~(UINT64_C(1) << residence);
        }
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                            CUmemLocation location)
{
        bool needs_residence = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                               advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                               advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
        int residence = residence_of(location);
        struct context *context;
        size_t pages;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
                return CUDA_ERROR_INVALID_VALUE;
        if (needs_residence && residence == RESIDENCE_NONE)
                return CUDA_ERROR_INVALID_DEVICE;
        struct managed_page *page = managed_lock(devPtr, count, &pages);
        if (!page)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; i < pages; i++)
                page_advise(&page[i], advice, residence);
        managed_unlock();
        return CUDA_SUCCESS;
}

CUresult sim_cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
        return sim_cuMemAdvise_v2(devPtr, count, advice, location_of(device));
}

struct prefetch {
        CUdeviceptr address;
        size_t count;
        int residence;
        uint64_t bytes_per_s;
};

static CUresult prefetch_run(void *closure, uint64_t *ret_duration_ns)
{
        struct prefetch *prefetch = closure;
        struct allocation *allocation = memory_find(prefetch->address);
        uint64_t moved = 0;

        if (allocation && allocation->kind == MEMORY_MANAGED)
                moved = managed_move(allocation, prefetch->address, prefetch->count,
                                     prefetch->residence);
        *ret_duration_ns =
                PREFETCH_NS + (uint64_t)((double)moved * 1e9 / (double)prefetch->bytes_per_s);
        return CUDA_SUCCESS;
}

static CUresult prefetch_check(CUdeviceptr address, size_t count, int residence)
{
        size_t pages;

        if (residence == RESIDENCE_NONE)
                return CUDA_ERROR_INVALID_DEVICE;
        if (!managed_lock(address, count, &pages))
                return CUDA_ERROR_INVALID_VALUE;
        managed_unlock();
        return CUDA_SUCCESS;
}

static CUresult prefetch_submit(struct stream *stream, CUdeviceptr address, size_t count,
                                int residence)
{
        CUresult r = prefetch_check(address, count, residence);

        if (r != CUDA_SUCCESS)
                return r;
        if (capture_is_active(stream))
                return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        struct prefetch *prefetch = malloc(sizeof *prefetch);
        if (!prefetch)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *prefetch = (struct prefetch){
                .address = address,
                .count = count,
                .residence = residence,
                .bytes_per_s = device_gpu(stream->context->device)->prefetch_bytes_per_s,
        };
        if (!prefetch->bytes_per_s)
                prefetch->bytes_per_s = UINT64_C(10000000000);
        struct work work = {
                .engine = residence == RESIDENCE_HOST ? ENGINE_OUT : ENGINE_IN,
                .duration_ns = MACHINE_NS_UNKNOWN,
                .run = prefetch_run,
                .free = free,
                .closure = prefetch,
        };
        return work_submit(stream, &work, NULL);
}

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                   unsigned int flags, CUstream hStream)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (flags)
                return CUDA_ERROR_INVALID_VALUE;
        return prefetch_submit(stream, devPtr, count, residence_of(location));
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                CUstream hStream)
{
        return sim_cuMemPrefetchAsync_v2(devPtr, count, location_of(dstDevice), 0, hStream);
}

/* The location that applies to the range with this index. */
static CUresult batch_location(const CUmemLocation *locations, const size_t *starts, size_t count,
                               size_t index, CUmemLocation *ret_location)
{
        size_t chosen = 0;

        if (!locations || !starts || !count || starts[0])
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 1; i < count; i++)
                if (starts[i] <= index)
                        chosen = i;
        *ret_location = locations[chosen];
        return CUDA_SUCCESS;
}

CUresult sim_cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                     CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                     size_t numPrefetchLocs, unsigned long long flags,
                                     CUstream hStream)
{
        struct stream *stream;
        CUmemLocation location;
        CUresult r = stream_get(hStream, &stream);

        if (r == CUDA_SUCCESS && (!dptrs || !sizes || !count || flags))
                r = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
                r = batch_location(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, i, &location);
                if (r == CUDA_SUCCESS)
                        r = prefetch_submit(stream, dptrs[i], sizes[i], residence_of(location));
        }
        return r;
}

/* Discarding says the contents are no longer needed: keeping them is right, too. */
CUresult sim_cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                    unsigned long long flags, CUstream hStream)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r == CUDA_SUCCESS && (!dptrs || !sizes || !count || flags))
                r = CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++)
                r = prefetch_check(dptrs[i], sizes[i], RESIDENCE_HOST);
        return r;
}

CUresult sim_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
                                               CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                               size_t numPrefetchLocs, unsigned long long flags,
                                               CUstream hStream)
{
        return sim_cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
                                           numPrefetchLocs, flags, hStream);
}

/* The residence that all pages agree on; RESIDENCE_NONE: they do not. */
static int pages_preferred(const struct managed_page *page, size_t pages)
{
        for (size_t i = 1; i < pages; i++)
                if (page[i].preferred != page[0].preferred)
                        return RESIDENCE_NONE;
        return page[0].preferred;
}

static int pages_prefetched(const struct managed_page *page, size_t pages)
{
        for (size_t i = 1; i < pages; i++)
                if (page[i].prefetched != page[0].prefetched)
                        return RESIDENCE_NONE;
        return page[0].prefetched;
}

static int residence_type(int residence)
{
        if (residence == RESIDENCE_NONE)
                return CU_MEM_LOCATION_TYPE_INVALID;
        return residence == RESIDENCE_HOST ? CU_MEM_LOCATION_TYPE_HOST
                                           : CU_MEM_LOCATION_TYPE_DEVICE;
}

/* Devices (and the host) that every page is accessed by, closed with CU_DEVICE_INVALID. */
static void pages_accessed_by(const struct managed_page *page, size_t pages, int *to,
                              size_t capacity)
{
        uint64_t devices = ~UINT64_C(0);
        bool is_host = true;
        size_t filled = 0;

        for (size_t i = 0; i < pages; i++) {
                devices &= page[i].accessed_by;
                is_host &= page[i].is_accessed_by_host;
        }
        if (is_host && filled < capacity)
                to[filled++] = CU_DEVICE_CPU;
        for (int d = 0; d < DRIVER_DEVICES && filled < capacity; d++)
                if (devices >> d & 1)
                        to[filled++] = d;
        while (filled < capacity)
                to[filled++] = CU_DEVICE_INVALID;
}

static CUresult range_attribute(const struct managed_page *page, size_t pages,
                                CUmem_range_attribute attribute, int *to, size_t size)
{
        int preferred = pages_preferred(page, pages), prefetched = pages_prefetched(page, pages);

        if (!to || size < sizeof *to || size % sizeof *to)
                return CUDA_ERROR_INVALID_VALUE;
        if (attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY && size != sizeof *to)
                return CUDA_ERROR_INVALID_VALUE;
        switch (attribute) {
        case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
                *to = 1;
                for (size_t i = 0; i < pages; i++)
                        *to &= page[i].is_read_mostly;
                return CUDA_SUCCESS;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
                *to = preferred;
                return CUDA_SUCCESS;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
                *to = prefetched;
                return CUDA_SUCCESS;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
                *to = residence_type(preferred);
                return CUDA_SUCCESS;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
                *to = residence_type(prefetched);
                return CUDA_SUCCESS;
        case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
                pages_accessed_by(page, pages, to, size / sizeof *to);
                return CUDA_SUCCESS;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
}

CUresult sim_cuMemRangeGetAttributes(void **data, size_t *dataSizes,
                                     CUmem_range_attribute *attributes, size_t numAttributes,
                                     CUdeviceptr devPtr, size_t count)
{
        struct context *context;
        size_t pages;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        if (!data || !dataSizes || !attributes || !numAttributes)
                return CUDA_ERROR_INVALID_VALUE;
        struct managed_page *page = managed_lock(devPtr, count, &pages);
        if (!page)
                return CUDA_ERROR_INVALID_VALUE;
        for (size_t i = 0; r == CUDA_SUCCESS && i < numAttributes; i++)
                r = range_attribute(page, pages, attributes[i], data[i], dataSizes[i]);
        managed_unlock();
        return r;
}

CUresult sim_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
                                    CUdeviceptr devPtr, size_t count)
{
        return sim_cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}

CUresult sim_cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                    unsigned int flags)
{
        struct allocation *allocation = memory_find(dptr);
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
            flags != CU_MEM_ATTACH_SINGLE)
                return CUDA_ERROR_INVALID_VALUE;
        if (flags == CU_MEM_ATTACH_SINGLE && stream->is_legacy)
                return CUDA_ERROR_INVALID_VALUE;
        if (!allocation || allocation->kind != MEMORY_MANAGED || allocation->base != dptr ||
            (length && length != allocation->size))
                return CUDA_ERROR_INVALID_VALUE;
        if (capture_is_active(stream))
                return capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        allocation->flags = flags;
        return CUDA_SUCCESS;
}
