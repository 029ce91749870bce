/* SPDX-License-Identifier: Apache-2.0 */
/* cuLaunchKernel, cuLaunchKernelEx and the cooperative launches. */
#include <string.h>

#include "capture.h"
#include "function_handle.h"
#include "launch.h"
#include "module.h"
#include "sim_cuda.h"
#include "stream_event.h"

/* The attributes of a launch that outlive its checks. */
struct launch_extras {
        CUevent event; /* recorded behind the kernel; NULL: none */
};

/* Where the launch goes: the stream, whose context must be usable and on the current device. */
static CUresult launch_target(CUfunction handle, CUstream stream_handle, struct launch *launch,
                              struct stream **ret_stream)
{
        const struct device *device;
        struct context *context;
        CUresult r = context_need(&context);

        if (r != CUDA_SUCCESS)
                return r;
        r = function_need(handle, &launch->function);
        if (r == CUDA_SUCCESS)
                r = stream_get(stream_handle, ret_stream);
        if (r != CUDA_SUCCESS)
                return r;
        device = (*ret_stream)->context->device;
        return device == context->device && device == launch->function->module->context->device
                       ? CUDA_SUCCESS
                       : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult launch_go(struct stream *stream, struct launch *launch, void **params, void **extra)
{
        struct launch_buffer buffer;
        CUresult r = launch_check(stream->context, launch);

        if (r != CUDA_SUCCESS)
                return r;
        launch_buffer_init(&buffer);
        r = launch_set_params(launch, params, extra, &buffer);
        if (r == CUDA_SUCCESS)
                r = capture_is_active(stream) ? capture_add_kernel(stream, launch)
                                              : launch_submit(stream, launch, NULL);
        launch_buffer_done(&buffer);
        return r;
}

CUresult sim_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                            unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                            unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                            void **kernelParams, void **extra)
{
        struct launch launch = {
                .grid = { gridDimX, gridDimY, gridDimZ },
                .block = { blockDimX, blockDimY, blockDimZ },
                .shared_bytes = sharedMemBytes,
        };
        struct stream *stream;
        CUresult r = launch_target(f, hStream, &launch, &stream);

        return r == CUDA_SUCCESS ? launch_go(stream, &launch, kernelParams, extra) : r;
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                       unsigned int gridDimZ, unsigned int blockDimX,
                                       unsigned int blockDimY, unsigned int blockDimZ,
                                       unsigned int sharedMemBytes, CUstream hStream,
                                       void **kernelParams)
{
        struct launch launch = {
                .grid = { gridDimX, gridDimY, gridDimZ },
                .block = { blockDimX, blockDimY, blockDimZ },
                .shared_bytes = sharedMemBytes,
                .is_cooperative = true,
        };
        struct stream *stream;
        CUresult r = launch_target(f, hStream, &launch, &stream);

        return r == CUDA_SUCCESS ? launch_go(stream, &launch, kernelParams, NULL) : r;
}

static CUresult attribute_apply(const CUlaunchAttribute *attribute, struct launch *launch,
                                struct launch_extras *extras)
{
        const CUlaunchAttributeValue *value = &attribute->value;

        switch (attribute->id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                launch->is_cooperative = value->cooperative != 0;
                return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                launch->cluster[0] = value->clusterDim.x;
                launch->cluster[1] = value->clusterDim.y;
                launch->cluster[2] = value->clusterDim.z;
                return value->clusterDim.x ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
                extras->event = value->programmaticEvent.event;
                return CUDA_SUCCESS;
        case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
                extras->event = value->launchCompletionEvent.event;
                return CUDA_SUCCESS;
        default:
                /* Hints change nothing here: caches, priorities and domains are not simulated. */
                return (unsigned)attribute->id < CU_LAUNCH_ATTRIBUTE_MAX ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
        }
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
                              void **extra)
{
        struct launch_extras extras = { NULL };
        struct launch launch = { 0 };
        struct stream *stream;
        CUresult r;

        if (!config || (config->numAttrs && !config->attrs))
                return CUDA_ERROR_INVALID_VALUE;
        memcpy(launch.grid, &config->gridDimX, sizeof launch.grid);
        memcpy(launch.block, &config->blockDimX, sizeof launch.block);
        launch.shared_bytes = config->sharedMemBytes;
        r = launch_target(f, config->hStream, &launch, &stream);
        for (unsigned i = 0; r == CUDA_SUCCESS && i < config->numAttrs; i++)
                r = attribute_apply(&config->attrs[i], &launch, &extras);
        if (r == CUDA_SUCCESS)
                r = launch_go(stream, &launch, kernelParams, extra);
        if (r == CUDA_SUCCESS && extras.event)
                r = sim_cuEventRecord(extras.event, config->hStream);
        return r;
}

/* Each stream waits for what all of them hold. */
static CUresult streams_meet(const CUDA_LAUNCH_PARAMS *list, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                struct stream *from;
                struct mark mark;
                CUresult r = stream_get(list[i].hStream, &from);

                if (r != CUDA_SUCCESS)
                        return r;
                work_mark(from, &mark);
                for (unsigned j = 0; j < count; j++) {
                        struct stream *to;

                        if (j != i && stream_get(list[j].hStream, &to) == CUDA_SUCCESS)
                                work_join(to, &mark);
                }
                mark_done(&mark);
        }
        return CUDA_SUCCESS;
}

static CUresult launch_one_of_many(const CUDA_LAUNCH_PARAMS *params)
{
        struct launch launch = { .shared_bytes = params->sharedMemBytes, .is_cooperative = true };
        struct stream *stream;
        CUresult r = stream_get(params->hStream, &stream);

        if (r != CUDA_SUCCESS)
                return r;
        launch.function = function_get(params->function);
        if (!launch.function)
                return CUDA_ERROR_INVALID_HANDLE;
        if (capture_is_active(stream))
                return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        memcpy(launch.grid, &params->gridDimX, sizeof launch.grid);
        memcpy(launch.block, &params->blockDimX, sizeof launch.block);
        return launch_go(stream, &launch, params->kernelParams, NULL);
}

CUresult sim_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launchParamsList,
                                                  unsigned int numDevices, unsigned int flags)
{
        CUresult r = CUDA_SUCCESS;

        if (!launchParamsList || !numDevices || numDevices > DRIVER_DEVICES || flags > 3)
                return CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < numDevices; i++) {
                /* The streams tell the devices apart: the default ones cannot. */
                if ((uintptr_t)launchParamsList[i].hStream <= (uintptr_t)CU_STREAM_PER_THREAD)
                        return CUDA_ERROR_INVALID_HANDLE;
        }
        if (!(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC))
                r = streams_meet(launchParamsList, numDevices);
        for (unsigned i = 0; r == CUDA_SUCCESS && i < numDevices; i++)
                r = launch_one_of_many(&launchParamsList[i]);
        if (r == CUDA_SUCCESS &&
            !(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC))
                r = streams_meet(launchParamsList, numDevices);
        return r;
}
