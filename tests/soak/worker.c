/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use the driver as programs do, until they are killed. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "cuda_prototypes.h"
#include "soak.h"

enum { HELD = 8, BYSTANDER_BYTES = 1 << 20, ATTACH_GLOBAL = 1 };

static const char ptx[] =
        ".version 6.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry soak(.param .u64 out)\n{\n"
        ".reg .b32 %r<3>;\n.reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %tid.x;\n"
        "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\n"
        "ret;\n}\n"
        ".visible .entry soak_timed(.param .u64 out)\n{\nret;\n}\n";

struct worker {
        struct soak_shared *shared;
        CUcontext context;
        CUmodule module;
        CUfunction kernels[2];
        CUstream stream;
        CUevent event;
        CUdeviceptr held[HELD];
        CUdevice device;
        unsigned seed;
};

static unsigned chance(struct worker *worker, unsigned sides)
{
        return (unsigned)rand_r(&worker->seed) % sides;
}

static void count(struct worker *worker, CUresult result)
{
        if (result == CUDA_SUCCESS)
                worker->shared->driver_calls++;
}

static bool worker_start(struct worker *worker)
{
        return cuInit(0) == CUDA_SUCCESS &&
               cuDeviceGet(&worker->device, (int)chance(worker, SOAK_GPUS)) == CUDA_SUCCESS &&
               cuDevicePrimaryCtxRetain(&worker->context, worker->device) == CUDA_SUCCESS &&
               cuCtxSetCurrent(worker->context) == CUDA_SUCCESS &&
               cuModuleLoadData(&worker->module, ptx) == CUDA_SUCCESS &&
               cuModuleGetFunction(&worker->kernels[0], worker->module, "soak") == CUDA_SUCCESS &&
               cuModuleGetFunction(&worker->kernels[1], worker->module, "soak_timed") ==
                       CUDA_SUCCESS &&
               cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
               cuEventCreate(&worker->event, 0) == CUDA_SUCCESS;
}

static void worker_allocate(struct worker *worker)
{
        CUdeviceptr *buffer = &worker->held[chance(worker, HELD)];
        const size_t bytes = (size_t)4096 << chance(worker, 14);
        CUresult r;

        if (*buffer) {
                count(worker, cuMemFree_v2(*buffer));
                *buffer = 0;
                return;
        }
        switch (chance(worker, 4)) {
        case 0:
                r = cuMemAllocManaged(buffer, bytes, ATTACH_GLOBAL);
                break;
        case 1:
                r = cuMemAllocAsync(buffer, bytes, worker->stream);
                break;
        default:
                r = cuMemAlloc_v2(buffer, bytes);
                break;
        }
        if (r != CUDA_SUCCESS)
                *buffer = 0;
        else
                worker->shared->allocations++;
        count(worker, r);
}

static void worker_launch(struct worker *worker)
{
        CUdeviceptr out = worker->held[chance(worker, HELD)];
        void *params[] = { &out };
        CUresult r;

        if (!out)
                return;
        r = cuLaunchKernel(worker->kernels[chance(worker, 2)], 1, 1, 1, 64, 1, 1, 0, worker->stream,
                           params, NULL);
        if (r == CUDA_SUCCESS)
                worker->shared->launches++;
        count(worker, r);
}

static void worker_copy(struct worker *worker)
{
        unsigned char bytes[4096];
        const CUdeviceptr buffer = worker->held[chance(worker, HELD)];

        if (!buffer)
                return;
        memset(bytes, (int)chance(worker, 256), sizeof bytes);
        if (chance(worker, 2))
                count(worker, cuMemcpyHtoD_v2(buffer, bytes, sizeof bytes));
        else
                count(worker, cuMemcpyDtoH_v2(bytes, buffer, sizeof bytes));
}

/* Offers memory to the others, or takes what one of them offered; the offerer may be dead. */
static void worker_share(struct worker *worker)
{
        unsigned char *buffer = worker->shared->offered[chance(worker, SOAK_OFFERS)];
        CUipcMemHandle handle;
        CUdeviceptr theirs;

        if (chance(worker, 2)) {
                if (worker->held[0] && cuIpcGetMemHandle(&handle, worker->held[0]) == CUDA_SUCCESS)
                        memcpy(buffer, &handle, sizeof handle);
                return;
        }
        memcpy(&handle, buffer, sizeof handle);
        if (cuIpcOpenMemHandle_v2(&theirs, handle, 1) != CUDA_SUCCESS)
                return;
        worker->shared->imports++;
        count(worker, cuMemsetD8_v2(theirs, 1, 4096));
        count(worker, cuIpcCloseMemHandle(theirs));
}

static void worker_map(struct worker *worker)
{
        const CUmemAllocationProp prop = {
                .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = worker->device },
        };
        const CUmemAccessDesc access = {
                .location = prop.location,
                .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        const size_t bytes = (size_t)4 << 20;
        CUmemGenericAllocationHandle handle;
        CUdeviceptr buffer;

        if (cuMemCreate(&handle, bytes, &prop, 0) != CUDA_SUCCESS)
                return;
        if (cuMemAddressReserve(&buffer, bytes, 0, 0, 0) == CUDA_SUCCESS) {
                count(worker, cuMemMap(buffer, bytes, 0, handle, 0));
                count(worker, cuMemSetAccess(buffer, bytes, &access, 1));
                count(worker, cuMemsetD8_v2(buffer, 1, 4096));
                count(worker, cuMemUnmap(buffer, bytes));
                count(worker, cuMemAddressFree(buffer, bytes));
        }
        count(worker, cuMemRelease(handle));
}

static void worker_graph(struct worker *worker)
{
        CUgraphExec executable;
        CUgraph graph;

        if (cuStreamBeginCapture_v2(worker->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) !=
            CUDA_SUCCESS)
                return;
        for (int i = 0; i < 4; i++)
                worker_launch(worker);
        if (cuStreamEndCapture(worker->stream, &graph) != CUDA_SUCCESS)
                return;
        if (cuGraphInstantiateWithFlags(&executable, graph, 0) == CUDA_SUCCESS) {
                count(worker, cuGraphLaunch(executable, worker->stream));
                count(worker, cuGraphExecDestroy(executable));
        }
        count(worker, cuGraphDestroy(graph));
}

static void worker_other(struct worker *worker)
{
        size_t free_bytes, total_bytes;
        CUcontext context;

        switch (chance(worker, 7)) {
        case 0:
                if (cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS) {
                        worker->shared->driver_calls++;
                        count(worker, cuCtxDestroy_v2(context));
                }
                cuCtxSetCurrent(worker->context);
                break;
        case 1:
                count(worker, cuEventRecord(worker->event, worker->stream));
                count(worker, cuEventSynchronize(worker->event));
                break;
        case 2:
                count(worker, cuStreamSynchronize(worker->stream));
                break;
        case 3:
                worker_share(worker);
                break;
        case 4:
                worker_map(worker);
                break;
        case 5:
                worker_graph(worker);
                break;
        default:
                count(worker, cuMemGetInfo_v2(&free_bytes, &total_bytes));
                break;
        }
}

void worker_use_driver(struct soak_shared *shared, unsigned seed)
{
        struct worker worker = { .shared = shared, .seed = seed };

        if (!worker_start(&worker)) {
                /* Its neighbours may hold all memory; it is killed like the others. */
                for (;;)
                        pause();
        }
        for (;;) {
                switch (chance(&worker, 4)) {
                case 0:
                        worker_allocate(&worker);
                        break;
                case 1:
                        worker_launch(&worker);
                        break;
                case 2:
                        worker_copy(&worker);
                        break;
                default:
                        worker_other(&worker);
                        break;
                }
        }
}

/* One round: its data must come back as it was, whatever happens to the neighbours. */
static bool bystander_round(struct worker *worker, unsigned char *sent, unsigned char *got)
{
        CUdeviceptr buffer;
        void *params[] = { &buffer };
        bool is_good;

        memset(sent, (int)chance(worker, 256), BYSTANDER_BYTES);
        if (cuMemAlloc_v2(&buffer, BYSTANDER_BYTES) != CUDA_SUCCESS)
                return false;
        is_good = cuMemcpyHtoD_v2(buffer, sent, BYSTANDER_BYTES) == CUDA_SUCCESS &&
                  cuLaunchKernel(worker->kernels[1], 1, 1, 1, 32, 1, 1, 0, worker->stream, params,
                                 NULL) == CUDA_SUCCESS &&
                  cuStreamSynchronize(worker->stream) == CUDA_SUCCESS &&
                  cuMemcpyDtoH_v2(got, buffer, BYSTANDER_BYTES) == CUDA_SUCCESS &&
                  memcmp(sent, got, BYSTANDER_BYTES) == 0;
        return cuMemFree_v2(buffer) == CUDA_SUCCESS && is_good;
}

void worker_stand_by(struct soak_shared *shared)
{
        static unsigned char sent[BYSTANDER_BYTES], got[BYSTANDER_BYTES];
        struct worker worker = { .shared = shared, .seed = 1 };

        if (!worker_start(&worker))
                _exit(1);
        while (!shared->is_over) {
                const uint64_t begin_ns = clock_now_ns();
                uint64_t spent_ns;

                if (!bystander_round(&worker, sent, got))
                        shared->bystander_wrong++;
                spent_ns = clock_now_ns() - begin_ns;
                if (spent_ns > shared->bystander_slowest_ns)
                        shared->bystander_slowest_ns = spent_ns;
                shared->bystander_rounds++;
                usleep(2000);
        }
        exit(0);
}
