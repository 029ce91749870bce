/* SPDX-License-Identifier: Apache-2.0 */
/* share_load: work for a GPU whose time is shared, and who got how much of it, by the machine's own
 * counters.
 *
 *   share_load machine PATH [MIB]    makes the machine to measure on: one GPU, time as it is, of that
 *                                    much memory
 *   share_load KIND SECONDS          works without a pause; "share_load kinds" lists the kinds
 *   share_load watch PATH WINDOWS MS share of the GPU that was busy: one line per window, percent of
 *                                    the whole, then of each process: "1.2 80.1 pid=40.0 pid=40.1" */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_must.h"
#include "clock.h"
#include "cuda_prototypes.h"
#include "machine.h"
#include "region.h"
#include "region_compute.h"
#include "slot.h"
#include "timeline.h"

enum { STREAMS = 4, PROCESSES_MOST = 64 };

static const struct machine_kernel_time kernels[] = {
        { "k20us", 20 },      { "k50us", 50 },    { "k100us", 100 },  { "k300us", 300 },
        { "k1ms", 1000 },     { "k5ms", 5000 },   { "k20ms", 20000 }, { "k100ms", 100000 },
        { "k500ms", 500000 }, { "k2s", 2000000 },
};
enum { K20US, K50US, K100US, K300US, K1MS, K5MS, K20MS, K100MS, K500MS, K2S, KERNELS };
enum { GRAPH_8MS, GRAPH_40MS, GRAPH_100MS, GRAPHS };

struct load {
        CUfunction kernels[KERNELS];
        CUfunction user; /* of memory */
        CUstream streams[STREAMS];
        CUgraphExec graphs[GRAPHS];
};

static void launch(const struct load *load, unsigned kernel, unsigned stream)
{
        MUST(cuLaunchKernel(load->kernels[kernel], 1, 1, 1, 32, 1, 1, 0, load->streams[stream],
                            NULL, NULL));
}

static void sync_all(const struct load *load)
{
        MUST(cuStreamSynchronize(load->streams[0]));
}

static void async_50us(const struct load *load)
{
        for (unsigned i = 0; i < 100; i++)
                launch(load, K50US, 0);
}

static void async_1ms(const struct load *load)
{
        launch(load, K1MS, 0);
}

static void async_5ms(const struct load *load)
{
        launch(load, K5MS, 0);
}

static void sync_20ms(const struct load *load)
{
        launch(load, K20MS, 0);
        sync_all(load);
}

static void sync_100ms(const struct load *load)
{
        launch(load, K100MS, 0);
        sync_all(load);
}

static void sync_500ms(const struct load *load)
{
        launch(load, K500MS, 0);
        sync_all(load);
}

static void sync_2s(const struct load *load)
{
        launch(load, K2S, 0);
        sync_all(load);
}

static void graph_run(const struct load *load, unsigned graph)
{
        MUST(cuGraphLaunch(load->graphs[graph], load->streams[0]));
        sync_all(load);
}

static void graph_8ms(const struct load *load)
{
        graph_run(load, GRAPH_8MS);
}

static void graph_40ms(const struct load *load)
{
        graph_run(load, GRAPH_40MS);
}

static void graph_100ms(const struct load *load)
{
        graph_run(load, GRAPH_100MS);
}

static void iterations(const struct load *load)
{
        for (unsigned i = 0; i < 200; i++)
                launch(load, K100US, 0);
        sync_all(load);
}

static void mixed(const struct load *load)
{
        static const unsigned order[] = { K20US, K50US, K1MS,   K20US, K300US,
                                          K5MS,  K20US, K100US, K50US, K20US };

        for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++)
                launch(load, order[i], 0);
}

/* Most launches are short, and most of the time goes into a few that are not. */
static void heavy(const struct load *load)
{
        static const unsigned long_ones[] = { K1MS, K5MS, K100US, K20MS, K1MS, K100MS };
        static unsigned count;

        for (unsigned i = 0; i < 50; i++)
                launch(load, i % 5 ? K20US : K100US, 0);
        launch(load, long_ones[count++ % 6], 0);
}

static void streams(const struct load *load)
{
        for (unsigned i = 0; i < 40; i++)
                launch(load, i % 2 ? K100US : K50US, i % STREAMS);
}

/* Work that no kernel does, and that the simulated GPU has little to do for: 0.7 ms each. */
static void fills(const struct load *load)
{
        enum { BYTES = 1 << 30 };
        static CUdeviceptr memory;

        if (!memory)
                MUST(cuMemAlloc_v2(&memory, BYTES));
        MUST(cuMemsetD8Async(memory, 0, BYTES, load->streams[0]));
}

/* A millisecond of work for each request, one request every 20 ms; how long each took is printed. */
static void requests(const struct load *load)
{
        uint64_t begin_ns = clock_now_ns();

        sync_all(load);
        launch(load, K1MS, 0);
        sync_all(load);
        uint64_t took_ns = clock_now_ns() - begin_ns;
        printf("request_us %.1f\n", (double)took_ns / 1e3);
        if (took_ns < 20 * NS_PER_MS)
                usleep((unsigned)((20 * NS_PER_MS - took_ns) / NS_PER_US));
}

static uint64_t cpu_now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Launches that must wait: how long after their time was paid for they went on is printed, how long they
 * waited in all, and how long the process was on a CPU meanwhile. */
static void wakes(const struct load *load)
{
        static struct region region;
        struct err e = { 0 };

        if (!region.file && region_open(getenv("VGPU_REGION"), 1, &region, &e) < 0)
                must(CUDA_ERROR_UNKNOWN, e.text);
        struct region_compute *compute = &region.file->computes[0];
        uint32_t permille = (uint32_t)atoi(getenv("VGPU_CORES")) * 10;
        uint64_t now_ns = clock_now_ns(), cpu_ns = cpu_now_ns();
        uint64_t owed_ns =
                region_compute_owed_ns(compute, region_compute_rate(compute, permille), now_ns);
        launch(load, K1MS, 0);
        cpu_ns = cpu_now_ns() - cpu_ns;
        now_ns = clock_now_ns() - now_ns;
        if (owed_ns > 0)
                printf("wake_us %.1f %.1f %.1f\n", (double)(int64_t)(now_ns - owed_ns) / 1e3,
                       (double)now_ns / 1e3, (double)cpu_ns / 1e3);
        sync_all(load);
}

/* Work that uses all of the program's managed memory, nine tenths of what it may have, every 10 ms. How
 * many milliseconds were done is printed. */
static void managed(const struct load *load)
{
        static CUdeviceptr memory;
        static unsigned count;
        size_t free_bytes, total_bytes;
        void *params[] = { &memory };

        if (!memory) {
                MUST(cuMemGetInfo_v2(&free_bytes, &total_bytes));
                const size_t bytes = total_bytes / 10 * 9;
                MUST(cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
                MUST(cuMemPrefetchAsync(memory, bytes, 0, load->streams[0]));
                sync_all(load);
        }
        MUST(cuLaunchKernel(load->user, 1, 1, 1, 1, 1, 1, 0, load->streams[0], params, NULL));
        for (unsigned i = 0; i < 10; i++)
                launch(load, K1MS, 0);
        printf("done_ms %u\n", count += 10);
        fflush(stdout);
}

static const struct {
        const char *name;
        void (*iteration)(const struct load *load);
} kinds[] = {
        { "async_50us", async_50us }, { "async_1ms", async_1ms },
        { "async_5ms", async_5ms },   { "sync_20ms", sync_20ms },
        { "sync_500ms", sync_500ms }, { "graph_8ms", graph_8ms },
        { "sync_100ms", sync_100ms }, { "sync_2s", sync_2s },
        { "graph_40ms", graph_40ms }, { "graph_100ms", graph_100ms },
        { "heavy", heavy },           { "iterations", iterations },
        { "mixed", mixed },           { "streams", streams },
        { "requests", requests },     { "managed", managed },
        { "wakes", wakes },           { "fills", fills },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void graphs_make(struct load *load)
{
        static const struct {
                unsigned kernel, count;
        } graphs[GRAPHS] = { { K1MS, 8 }, { K5MS, 8 }, { K5MS, 20 } };
        CUgraph graph;

        for (unsigned i = 0; i < GRAPHS; i++) {
                MUST(cuStreamBeginCapture_v2(load->streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
                for (unsigned j = 0; j < graphs[i].count; j++)
                        launch(load, graphs[i].kernel, 0);
                MUST(cuStreamEndCapture(load->streams[0], &graph));
                MUST(cuGraphInstantiateWithFlags(&load->graphs[i], graph, 0));
        }
}

static void load_open(struct load *load)
{
        char ptx[4096] = ".version 6.0\n.target sm_50\n.address_size 64\n";
        CUcontext context;
        CUmodule module;

        for (unsigned i = 0; i < KERNELS; i++)
                snprintf(ptx + strlen(ptx), sizeof ptx - strlen(ptx),
                         ".visible .entry %s()\n{\nret;\n}\n", kernels[i].name);
        strcat(ptx, ".visible .entry user(.param .u64 memory)\n{\nret;\n}\n");
        MUST(cuInit(0));
        MUST(cuDevicePrimaryCtxRetain(&context, 0));
        MUST(cuCtxSetCurrent(context));
        MUST(cuModuleLoadData(&module, ptx));
        for (unsigned i = 0; i < KERNELS; i++)
                MUST(cuModuleGetFunction(&load->kernels[i], module, kernels[i].name));
        MUST(cuModuleGetFunction(&load->user, module, "user"));
        for (unsigned i = 0; i < STREAMS; i++)
                MUST(cuStreamCreate(&load->streams[i], CU_STREAM_NON_BLOCKING));
        graphs_make(load);
}

static int load_run(unsigned kind, double seconds)
{
        struct load load;

        load_open(&load);
        uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * (double)NS_PER_S);
        while (clock_now_ns() < end_ns)
                kinds[kind].iteration(&load);
        return 0;
}

/* What was counted at one moment: all figures of the same clock. */
struct reading {
        uint64_t clock_ns, busy_ns;
        unsigned count;
        struct {
                pid_t pid;
                uint64_t busy_ns;
        } processes[PROCESSES_MOST];
};

static void processes_read(struct machine *machine, struct reading *reading)
{
        uint32_t high = atomic_load(&machine->file->header.slots_high);

        reading->count = 0;
        for (uint32_t i = 0; i < high && reading->count < PROCESSES_MOST; i++) {
                const struct machine_slot *slot = &machine->file->slots[i];
                uint32_t channel = slot->units[0].channel;
                if (!channel || !slot_is_alive(machine, i))
                        continue;
                reading->processes[reading->count].pid = slot->pid;
                reading->processes[reading->count++].busy_ns =
                        machine->file->channels[channel - 1].busy_ns[ENGINE_COMPUTE];
        }
}

static void reading_take(struct machine *machine, struct reading *reading)
{
        const struct machine_unit *unit = machine_unit(machine, 0);

        do {
                timeline_advance(machine, 0);
                reading->clock_ns = unit->clock_ns;
                reading->busy_ns = unit->engines[ENGINE_COMPUTE].busy_ns;
                processes_read(machine, reading);
        } while (unit->clock_ns != reading->clock_ns);
}

static uint64_t busy_before(const struct reading *reading, pid_t pid)
{
        for (unsigned i = 0; i < reading->count; i++)
                if (reading->processes[i].pid == pid)
                        return reading->processes[i].busy_ns;
        return 0;
}

static void window_print(const struct reading *before, const struct reading *now, double begin_s)
{
        double span = (double)(now->clock_ns - before->clock_ns) / 100;

        printf("%.3f %.3f", begin_s, (double)(now->busy_ns - before->busy_ns) / span);
        for (unsigned i = 0; i < now->count; i++)
                printf(" %d=%.3f", now->processes[i].pid,
                       (double)(now->processes[i].busy_ns -
                                busy_before(before, now->processes[i].pid)) /
                               span);
        putchar('\n');
        fflush(stdout);
}

static int watch(const char *path, unsigned windows, unsigned window_ms)
{
        static struct reading readings[2];
        struct machine machine;
        struct err e = { 0 };

        if (machine_open(path, &machine, &e) < 0) {
                fprintf(stderr, "share_load: %s\n", e.text);
                return 1;
        }
        reading_take(&machine, &readings[0]);
        uint64_t begin_ns = clock_now_ns();
        for (unsigned i = 1; i <= windows; i++) {
                uint64_t at_ns = begin_ns + (uint64_t)i * window_ms * NS_PER_MS;
                struct timespec at = { (time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S) };
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
                reading_take(&machine, &readings[i % 2]);
                window_print(&readings[(i + 1) % 2], &readings[i % 2],
                             (double)(i - 1) * window_ms / 1000);
        }
        return 0;
}

static int machine_make(const char *path, uint64_t memory_bytes)
{
        struct machine_spec spec;
        struct err e = { 0 };

        machine_spec_init(&spec);
        spec.kernels = kernels;
        spec.kernel_count = KERNELS;
        spec.gpu_memory_bytes = memory_bytes;
        if (machine_create(path, &spec, &e) == 0)
                return 0;
        fprintf(stderr, "share_load: %s\n", e.text);
        return 1;
}

int main(int argc, char **argv)
{
        const char *what = argc > 1 ? argv[1] : "";

        if ((argc == 3 || argc == 4) && strcmp(what, "machine") == 0)
                return machine_make(argv[2], argc == 4 ? (uint64_t)atoll(argv[3]) << 20 : 0);
        if (argc == 5 && strcmp(what, "watch") == 0)
                return watch(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
        for (unsigned i = 0; i < KINDS; i++) {
                if (strcmp(what, "kinds") == 0)
                        puts(kinds[i].name);
                else if (argc == 3 && strcmp(what, kinds[i].name) == 0)
                        return load_run(i, atof(argv[2]));
        }
        if (strcmp(what, "kinds") == 0)
                return 0;
        fputs("Usage: share_load machine PATH [MIB] | kinds | KIND SECONDS | watch PATH WINDOWS "
              "MS\n",
              stderr);
        return 2;
}
