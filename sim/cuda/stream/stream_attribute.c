/* SPDX-License-Identifier: Apache-2.0 */
/* cuStreamSetAttribute and friends: what a stream is told to be like. Nothing here changes how it
 * runs; programs ask for what they set. */
#include <stdlib.h>

#include "capture.h"
#include "sim_cuda.h"

struct stream_attributes {
        uint64_t number; /* the stream they were set for: streams are reused */
        CUaccessPolicyWindow window;
        CUsynchronizationPolicy policy;
        CUlaunchMemSyncDomainMap domain_map;
        CUlaunchMemSyncDomain domain;
};

static const struct stream_attributes stream_attributes_default = {
        .policy = CU_SYNC_POLICY_AUTO,
        .domain_map = { .default_ = 0, .remote = 1 },
};

static const struct stream_attributes *attributes_of(const struct stream *stream)
{
        const struct stream_attributes *attributes = stream->attributes;

        return attributes && attributes->number == stream->number ? attributes
                                                                  : &stream_attributes_default;
}

/* The stream's own, to be changed. */
static struct stream_attributes *attributes_own(struct stream *stream)
{
        struct stream_attributes *attributes = stream->attributes;

        if (!attributes)
                attributes = stream->attributes = malloc(sizeof *attributes);
        else if (attributes->number == stream->number)
                return attributes;
        if (attributes) {
                *attributes = stream_attributes_default;
                attributes->number = stream->number;
        }
        return attributes;
}

CUresult sim_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
        const struct stream_attributes *attributes;
        CUstreamAttrValue answer = { .pad = { 0 } };
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        if (!value)
                return CUDA_ERROR_INVALID_VALUE;
        attributes = attributes_of(stream);
        switch (attr) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
                answer.accessPolicyWindow = attributes->window;
                break;
        case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
                answer.syncPolicy = attributes->policy;
                break;
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
                answer.priority = stream->priority;
                break;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
                answer.memSyncDomainMap = attributes->domain_map;
                break;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
                answer.memSyncDomain = attributes->domain;
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        *value = answer;
        return CUDA_SUCCESS;
}

static CUresult window_check(const CUaccessPolicyWindow *window)
{
        return window->hitRatio >= 0 && window->hitRatio <= 1 &&
                               window->missProp != CU_ACCESS_PROPERTY_PERSISTING
                       ? CUDA_SUCCESS
                       : CUDA_ERROR_INVALID_VALUE;
}

static CUresult attribute_set(struct stream *stream, CUstreamAttrID attr,
                              const CUstreamAttrValue *value)
{
        struct stream_attributes *attributes = attributes_own(stream);
        CUresult r = CUDA_SUCCESS;

        if (!attributes)
                return CUDA_ERROR_OUT_OF_MEMORY;
        switch (attr) {
        case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
                r = window_check(&value->accessPolicyWindow);
                if (r == CUDA_SUCCESS)
                        attributes->window = value->accessPolicyWindow;
                break;
        case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
                if (value->syncPolicy < CU_SYNC_POLICY_AUTO ||
                    value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
                        return CUDA_ERROR_INVALID_VALUE;
                attributes->policy = value->syncPolicy;
                break;
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
                stream->priority = value->priority;
                break;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
                attributes->domain_map = value->memSyncDomainMap;
                break;
        case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
                attributes->domain = value->memSyncDomain;
                break;
        default:
                return CUDA_ERROR_INVALID_VALUE;
        }
        return r;
}

CUresult sim_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                  const CUstreamAttrValue *param)
{
        struct stream *stream;
        CUresult r = stream_get(hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        return param ? attribute_set(stream, attr, param) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream)
{
        struct stream_attributes *to;
        struct stream *source, *target;
        CUresult r = stream_get(srcStream, &source);

        if (r == CUDA_SUCCESS)
                r = stream_get(dstStream, &target);
        if (r != CUDA_SUCCESS)
                return r;
        if (source->context->device != target->context->device)
                return CUDA_ERROR_INVALID_CONTEXT;
        to = attributes_own(target);
        if (!to)
                return CUDA_ERROR_OUT_OF_MEMORY;
        *to = *attributes_of(source);
        to->number = target->number;
        return CUDA_SUCCESS;
}
