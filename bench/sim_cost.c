/* SPDX-License-Identifier: Apache-2.0 */
/* sim_cost [ROUNDS]: what a call of the simulated driver costs the host, in nanoseconds.
 *
 * The machine's time runs a thousand times faster, so that no call ever waits for the GPU: what is
 * left is the simulator's own work. Prints "metric value" lines; each value is the median of rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_clock.h"
#include "bench_machine.h"
#include "bench_must.h"
#include "clock.h"
#include "cuda_prototypes.h"
#include "nvml_prototypes.h"

enum { ROUNDS_MOST = 200 };

static const char ptx[] =
        ".version 6.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry bench_timed(.param .u64 out)\n{\nret;\n}\n"
        ".visible .entry bench_store(.param .u64 out)\n{\n"
        ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\ncvta.to.global.u64 %rd1, %rd1;\n"
        "st.global.u32 [%rd1], 1;\nret;\n}\n";

struct bench {
        CUcontext context;
        CUfunction timed, store;
        CUstream stream;
        CUevent event;
        CUdeviceptr buffer;
        nvmlDevice_t device;
        char bytes[4096];
        unsigned rounds;
};

static void launch(struct bench *bench)
{
        void *params[] = { &bench->buffer };

        MUST(cuLaunchKernel(bench->timed, 1, 1, 1, 32, 1, 1, 0, bench->stream, params, NULL));
}

static void launch_interpreted(struct bench *bench)
{
        void *params[] = { &bench->buffer };

        MUST(cuLaunchKernel(bench->store, 1, 1, 1, 32, 1, 1, 0, bench->stream, params, NULL));
        MUST(cuStreamSynchronize(bench->stream));
}

static void alloc_free(size_t bytes)
{
        CUdeviceptr buffer;

        MUST(cuMemAlloc_v2(&buffer, bytes));
        MUST(cuMemFree_v2(buffer));
}

static void alloc_free_small(struct bench *bench)
{
        (void)bench;
        alloc_free(4096);
}

static void alloc_free_large(struct bench *bench)
{
        (void)bench;
        alloc_free((size_t)1 << 30);
}

static void copy_in(struct bench *bench)
{
        MUST(cuMemcpyHtoD_v2(bench->buffer, bench->bytes, sizeof bench->bytes));
}

static void copy_out(struct bench *bench)
{
        MUST(cuMemcpyDtoH_v2(bench->bytes, bench->buffer, sizeof bench->bytes));
}

static void memory_info(struct bench *bench)
{
        size_t free_bytes, total_bytes;

        (void)bench;
        MUST(cuMemGetInfo_v2(&free_bytes, &total_bytes));
}

static void event_record(struct bench *bench)
{
        MUST(cuEventRecord(bench->event, bench->stream));
}

static void stream_query(struct bench *bench)
{
        MUST(cuStreamQuery(bench->stream));
}

static void stream_synchronize(struct bench *bench)
{
        MUST(cuStreamSynchronize(bench->stream));
}

static void context_get(struct bench *bench)
{
        MUST(cuCtxGetCurrent(&bench->context));
}

static void nvml_memory(struct bench *bench)
{
        nvmlMemory_t memory;

        if (nvmlDeviceGetMemoryInfo(bench->device, &memory) != NVML_SUCCESS)
                must(CUDA_ERROR_UNKNOWN, "nvmlDeviceGetMemoryInfo");
}

static const struct {
        const char *metric;
        void (*call)(struct bench *bench);
        unsigned count; /* calls per round */
} rows[] = {
        { "sim_launch_ns", launch, 256 },
        { "sim_launch_interpreted_ns", launch_interpreted, 32 },
        { "sim_alloc_free_small_ns", alloc_free_small, 128 },
        { "sim_alloc_free_large_ns", alloc_free_large, 32 },
        { "sim_copy_in_4k_ns", copy_in, 64 },
        { "sim_copy_out_4k_ns", copy_out, 64 },
        { "sim_mem_get_info_ns", memory_info, 256 },
        { "sim_event_record_ns", event_record, 256 },
        { "sim_stream_query_ns", stream_query, 256 },
        { "sim_stream_synchronize_ns", stream_synchronize, 256 },
        { "sim_ctx_get_current_ns", context_get, 1024 },
        { "sim_nvml_memory_info_ns", nvml_memory, 256 },
};

static double median_ns(struct bench *bench, void (*call)(struct bench *), unsigned count)
{
        double results[ROUNDS_MOST];

        for (unsigned round = 0; round < bench->rounds; round++) {
                uint64_t begin_ns;

                MUST(cuStreamSynchronize(bench->stream));
                begin_ns = clock_now_ns();
                for (unsigned i = 0; i < count; i++)
                        call(bench);
                results[round] = (double)(clock_now_ns() - begin_ns) / count;
        }
        return bench_median(results, bench->rounds);
}

static void bench_open(struct bench *bench)
{
        CUmodule module;

        MUST(cuInit(0));
        MUST(cuDevicePrimaryCtxRetain(&bench->context, 0));
        MUST(cuCtxSetCurrent(bench->context));
        MUST(cuModuleLoadData(&module, ptx));
        MUST(cuModuleGetFunction(&bench->timed, module, "bench_timed"));
        MUST(cuModuleGetFunction(&bench->store, module, "bench_store"));
        MUST(cuStreamCreate(&bench->stream, CU_STREAM_NON_BLOCKING));
        MUST(cuEventCreate(&bench->event, 0));
        MUST(cuMemAlloc_v2(&bench->buffer, 1 << 20));
        if (nvmlInit_v2() != NVML_SUCCESS ||
            nvmlDeviceGetHandleByIndex_v2(0, &bench->device) != NVML_SUCCESS)
                must(CUDA_ERROR_UNKNOWN, "nvmlInit_v2");
}

static char machine_path[64];

static void machine_remove(void)
{
        unlink(machine_path);
}

int main(int argc, char **argv)
{
        struct bench bench = { .rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 51 };
        uint64_t begin_ns;

        if (bench.rounds < 1 || bench.rounds > ROUNDS_MOST) {
                fprintf(stderr, "sim_cost: rounds must be from 1 to %d\n", ROUNDS_MOST);
                return 2;
        }
        snprintf(machine_path, sizeof machine_path, "/tmp/vgpu-bench-%d", (int)getpid());
        bench_machine_make(machine_path);
        setenv("VGPU_SIM", machine_path, 1);
        atexit(machine_remove);
        begin_ns = clock_now_ns();
        bench_open(&bench);
        printf("sim_start_us %.1f\n", (double)(clock_now_ns() - begin_ns) / 1000);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                median_ns(&bench, rows[i].call, 8); /* warm up */
                printf("%s %.1f\n", rows[i].metric, median_ns(&bench, rows[i].call, rows[i].count));
                fflush(stdout);
        }
        return 0;
}
