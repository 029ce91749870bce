/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills, where they count as compute: held to the limit on every route, by the counters of
 * the machine's engines (judge.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"
#include "moves.h"
#include "timeline.h"

/* Engines so slow that this much takes some milliseconds. */
enum { LIMIT = 20, RUN_MS = 400, ROW_MS = 60, ROW_MOST = 55, TRIES = 4 };
#define BYTES_PER_S (BYTES * UINT64_C(1000) / 3)

static struct mover mover;

static void engines_slow_down(void)
{
        struct machine *machine = sim_machine_open();

        for (unsigned i = 0; i < WORKER_GPUS; i++) {
                struct machine_gpu *gpu = machine_gpu(machine, i);

                gpu->in_bytes_per_s = gpu->out_bytes_per_s = BYTES_PER_S;
                gpu->memory_bytes_per_s = 2 * BYTES_PER_S;
        }
}

/* Of device memory into device memory, in every description there is. */
static void shapes_describe(struct mover *m)
{
        const CUDA_MEMCPY3D deep = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                     .srcDevice = m->device,
                                     .srcPitch = SIDE,
                                     .srcHeight = SIDE,
                                     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                     .dstDevice = m->other,
                                     .dstPitch = SIDE,
                                     .dstHeight = SIDE,
                                     .WidthInBytes = SIDE,
                                     .Height = SIDE,
                                     .Depth = 1 };

        m->deep = deep;
        memcpy(&m->peer, &deep, sizeof deep);
        m->peer.srcContext = m->peer.dstContext = m->worker.contexts[0];
        m->flat = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .srcDevice = m->device,
                                   .srcPitch = SIDE,
                                   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                   .dstDevice = m->other,
                                   .dstPitch = SIDE,
                                   .WidthInBytes = SIDE,
                                   .Height = SIDE };
        m->old_flat = (CUDA_MEMCPY2D_v1){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                          .srcDevice = m->old,
                                          .srcPitch = SIDE,
                                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                          .dstDevice = m->old_other,
                                          .dstPitch = SIDE,
                                          .WidthInBytes = SIDE,
                                          .Height = SIDE };
        m->old_deep = (CUDA_MEMCPY3D_v1){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                          .srcDevice = m->old,
                                          .srcPitch = SIDE,
                                          .srcHeight = SIDE,
                                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                          .dstDevice = m->old_other,
                                          .dstPitch = SIDE,
                                          .dstHeight = SIDE,
                                          .WidthInBytes = SIDE,
                                          .Height = SIDE,
                                          .Depth = 1 };
        m->sizes[0] = BYTES;
        m->attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        m->batch = (CUDA_MEMCPY3D_BATCH_OP){
                .src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = m->device },
                .dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr.ptr = m->other },
                .extent = { SIDE, SIDE, 1 },
                .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
        };
}

static void begin(const char *copies)
{
        const CUDA_ARRAY_DESCRIPTOR line = { .Width = BYTES,
                                             .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                             .NumChannels = 1 };

        worker_machine("20");
        if (copies)
                setenv("VGPU_COPIES", copies, 1);
        engines_slow_down();
        worker_start(&mover.worker);
        CHECK_EQ(cuMemAlloc_v2(&mover.device, BYTES), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&mover.other, BYTES), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc(&mover.old, BYTES), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc(&mover.old_other, BYTES), CUDA_SUCCESS);
        CHECK_EQ(cuArrayCreate_v2(&mover.array, &line), CUDA_SUCCESS);
        CHECK_EQ(cuArrayCreate_v2(&mover.other_array, &line), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocHost_v2(&mover.host, BYTES), CUDA_SUCCESS);
        CHECK_EQ(cuMemAllocHost_v2(&mover.other_host, BYTES), CUDA_SUCCESS);
        shapes_describe(&mover);
}

#define ONE(name, arguments)                         \
        static CUresult move_##name(struct mover *m) \
        {                                            \
                return name arguments;               \
        }
MOVES
#undef ONE

struct move {
        const char *name;
        CUresult (*run)(struct mover *m);
};

static const struct move moves[] = {
#define ONE(name, arguments) { #name, move_##name },
        MOVES
#undef ONE
};

/* The machine's clock, and what all engines of the first GPU have worked. */
static struct worker_time engines_time(void)
{
        static struct machine *machine;

        if (!machine)
                machine = sim_machine_open();
        const struct machine_unit *unit = machine_unit(machine, 0);
        struct worker_time time;
        do {
                timeline_advance(machine, 0);
                time = (struct worker_time){ unit->clock_ns,
                                             unit->engines[ENGINE_COMPUTE].busy_ns +
                                                     unit->engines[ENGINE_IN].busy_ns +
                                                     unit->engines[ENGINE_OUT].busy_ns,
                                             0 };
        } while (time.clock_ns != unit->clock_ns);
        time.late_ns = worker_late_ns();
        return time;
}

/* Repeats it for so long; percent of the time that an engine was busy. */
static struct load run(const struct move *move, unsigned ms)
{
        const struct worker_time begin = engines_time();
        struct worker_time now;

        do {
                CUresult r = move->run(&mover);
                if (r != CUDA_SUCCESS)
                        fail_msg("%s: error %d", move->name, r);
                now = engines_time();
        } while (now.clock_ns - begin.clock_ns < ms * UINT64_C(1000000));
        return load_between(begin, now);
}

static const struct move *move_named(const char *name)
{
        for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
                if (strcmp(moves[i].name, name) == 0)
                        return &moves[i];
        fail_msg("no move %s", name);
        return NULL;
}

/* Does it keep to the limit, and is what the engines did meanwhile what was counted, give or take a piece
 * of work? The reason why not is in `why`. */
static bool is_counted(const struct move *move, char *why, size_t size)
{
        const uint64_t done_before = engines_time().busy_ns, counted_before = worker_counted_ns(0);
        const double load = run(move, ROW_MS).percent;

        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        const uint64_t done_ns = engines_time().busy_ns - done_before;
        const uint64_t counted_ns = worker_counted_ns(0) - counted_before;
        snprintf(why, size,
                 "%s: %.1f %% of an engine's time under a limit of %d; the engines worked %.1f ms, "
                 "%.1f "
                 "of them were counted",
                 move->name, load, LIMIT, (double)done_ns / 1e6, (double)counted_ns / 1e6);
        return load <= ROW_MOST && counted_ns >= done_ns / 2 && counted_ns <= done_ns * 2;
}

/* One after the other, so that none has saved anything up. A host that is busy elsewhere makes a copy that
 * is waited for look longer than it was: then it is tried again. */
SIM_TEST(every_copy_and_fill_counts)
{
        char why[256];

        begin("count");
        worker_hurry();
        for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
                for (unsigned tries = 1; !is_counted(&moves[i], why, sizeof why); tries++)
                        if (tries == TRIES)
                                fail_msg("%s", why);
}

static struct load move_measure(void *closure)
{
        run(closure, JUDGE_WARM_MS);
        return run(closure, JUDGE_RUN_MS);
}

static void judge_move(const char *name)
{
        struct move move = *move_named(name);

        judge_limit(LIMIT, move_measure, &move);
}

SIM_TEST(copies_keep_to_the_limit)
{
        begin("count");
        judge_move("cuMemcpyHtoDAsync_v2");
}

SIM_TEST(copies_that_are_waited_for_keep_to_the_limit)
{
        begin("count");
        judge_move("cuMemcpyDtoH_v2");
}

SIM_TEST(fills_keep_to_the_limit)
{
        begin("count");
        judge_move("cuMemsetD8Async");
}

SIM_TEST(by_default_copies_are_exempt)
{
        begin(NULL);
        CHECK(run(move_named("cuMemcpyHtoDAsync_v2"), RUN_MS).percent > 60);
}

SIM_TEST(copies_are_exempt_if_the_environment_says_so)
{
        begin("exempt");
        CHECK(run(move_named("cuMemsetD8Async"), RUN_MS).percent > 60);
}

static CUresult kernel_and_copy(struct mover *m)
{
        CUresult r = cuLaunchKernel(m->worker.kernels[0][KERNEL_2MS], 1, 1, 1, 32, 1, 1, 0, STREAM,
                                    NULL, NULL);

        return r == CUDA_SUCCESS ? cuMemcpyHtoDAsync_v2(m->device, m->host, BYTES, STREAM) : r;
}

SIM_TEST(kernels_and_copies_have_one_limit)
{
        struct move both = { "a kernel and a copy", kernel_and_copy };

        begin("count");
        judge_limit(LIMIT, move_measure, &both);
}

/* Deep in debt: what is captured costs nothing and is not held up. */
SIM_TEST(a_capture_of_copies_is_not_held_up)
{
        struct mover *m = &mover;
        CUgraph graph;
        size_t nodes = 0;

        begin("count");
        run(move_named("cuMemcpyHtoDAsync_v2"), ROW_MS);
        const struct worker_time begin_time = engines_time();
        CHECK_EQ(cuStreamBeginCapture_v2(STREAM, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        for (unsigned i = 0; i < 100; i++)
                CHECK_EQ(cuMemcpyHtoDAsync_v2(m->device, m->host, BYTES, STREAM), CUDA_SUCCESS);
        CHECK_EQ(cuStreamEndCapture(STREAM, &graph), CUDA_SUCCESS);
        CHECK(engines_time().clock_ns - begin_time.clock_ns < UINT64_C(200000000));
        CHECK_EQ(cuGraphGetNodes(graph, NULL, &nodes), CUDA_SUCCESS);
        CHECK_EQ(nodes, 100); /* nothing of ours among them */
}

static CUgraphExec copies;

static CUresult launch_copies(struct mover *m)
{
        return cuGraphLaunch(copies, m->worker.stream);
}

/* They come with the graph, whatever is said of copies. */
SIM_TEST(copies_of_a_graph_are_charged_with_it)
{
        struct move graph_move = { "a graph of a copy", launch_copies };
        struct mover *m = &mover;
        CUgraph graph;

        begin("exempt");
        CHECK_EQ(cuStreamBeginCapture_v2(STREAM, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyHtoDAsync_v2(m->device, m->host, BYTES, STREAM), CUDA_SUCCESS);
        CHECK_EQ(cuStreamEndCapture(STREAM, &graph), CUDA_SUCCESS);
        CHECK_EQ(cuGraphInstantiateWithFlags(&copies, graph, 0), CUDA_SUCCESS);
        judge_limit(LIMIT, move_measure, &graph_move);
}

SIM_TEST(data_arrives)
{
        char *from = NULL, *to = NULL;

        begin("count");
        from = mover.host;
        to = mover.other_host;
        for (unsigned i = 0; i < BYTES; i++)
                from[i] = (char)(i * 7);
        CHECK_EQ(cuMemcpyHtoD_v2(mover.device, from, BYTES), CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyDtoDAsync_v2(mover.other, mover.device, BYTES, NULL), CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyDtoH_v2(to, mover.other, BYTES), CUDA_SUCCESS);
        CHECK(memcmp(from, to, BYTES) == 0);
}

SIM_TEST(a_refused_copy_costs_nothing)
{
        begin("count");
        for (unsigned i = 0; i < 200; i++) /* each would be charged 2 ms at first */
                CHECK(cuMemcpyHtoD_v2(1, mover.host, BYTES) != CUDA_SUCCESS);
        const struct worker_time begin_time = engines_time();
        CHECK_EQ(cuMemcpyHtoD_v2(mover.device, mover.host, BYTES), CUDA_SUCCESS);
        CHECK(engines_time().clock_ns - begin_time.clock_ns < UINT64_C(200000000));
}

int main(void)
{
        return RUN(CASE(every_copy_and_fill_counts), CASE(copies_keep_to_the_limit),
                   CASE(copies_that_are_waited_for_keep_to_the_limit),
                   CASE(fills_keep_to_the_limit), CASE(by_default_copies_are_exempt),
                   CASE(copies_are_exempt_if_the_environment_says_so),
                   CASE(kernels_and_copies_have_one_limit),
                   CASE(a_capture_of_copies_is_not_held_up),
                   CASE(copies_of_a_graph_are_charged_with_it), CASE(data_arrives),
                   CASE(a_refused_copy_costs_nothing));
}
