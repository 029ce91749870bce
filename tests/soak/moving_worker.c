/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose memory moves: it uses a part of its blocks, a while later another, writes to them and looks whether
 * they have what it wrote; now and then it gives a block back and takes a new one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_prototypes.h"
#include "moving.h"

#define BLOCK_BYTES ((size_t)MOVING_BLOCK_MIB << 20)
enum { BLOCKS_MOST = 64, MARKS = 3, HOT_PART = 3, SHIFT_EVERY = 12, RENEW_EVERY = 7 };

static const char ptx[] = ".version 6.3\n.target sm_70\n.address_size 64\n"
                          ".visible .entry moving_user(.param .u64 memory)\n{\nret;\n}\n";

struct process {
        struct moving_board *board;
        unsigned index, count, seed;
        enum moving_kind kind;
        CUfunction kernel;
        CUstream streams[2];
        struct {
                CUdeviceptr address; /* 0: refused, for now */
                unsigned generation;
        } blocks[BLOCKS_MOST];
};

static unsigned chance(struct process *process, unsigned sides)
{
        return (unsigned)rand_r(&process->seed) % sides;
}

static bool good(struct process *process, CUresult result)
{
        if (result != CUDA_SUCCESS)
                atomic_fetch_add(&process->board->processes[process->index].wrong, 1);
        return result == CUDA_SUCCESS;
}

static CUdeviceptr mark_address(const struct process *process, unsigned block, unsigned mark)
{
        return process->blocks[block].address +
               (BLOCK_BYTES - sizeof(unsigned)) / (MARKS - 1) / 4 * 4 * mark;
}

static unsigned mark_of(const struct process *process, unsigned block, unsigned mark)
{
        return (unsigned)getpid() * 2654435761u + block * 40503u + mark * 97u +
               process->blocks[block].generation;
}

static void block_write(struct process *process, unsigned block)
{
        process->blocks[block].generation++;
        for (unsigned i = 0; i < MARKS; i++) {
                const unsigned mark = mark_of(process, block, i);

                good(process, cuMemcpyHtoD_v2(mark_address(process, block, i), &mark, sizeof mark));
        }
}

static void block_check(struct process *process, unsigned block)
{
        unsigned mark = 0;

        for (unsigned i = 0; i < MARKS; i++)
                if (good(process,
                         cuMemcpyDtoH_v2(&mark, mark_address(process, block, i), sizeof mark)) &&
                    mark != mark_of(process, block, i)) {
                        atomic_fetch_add(&process->board->processes[process->index].lost, 1);
                        return;
                }
}

/* What a killed sibling held may not be free yet: then later. */
static void block_take(struct process *process, unsigned block)
{
        const bool is_managed =
                process->kind == MOVING_MANAGED || (process->kind == MOVING_MIXED && block % 2);
        CUdeviceptr address = 0;
        const CUresult r = is_managed
                                   ? cuMemAllocManaged(&address, BLOCK_BYTES, CU_MEM_ATTACH_GLOBAL)
                                   : cuMemAlloc_v2(&address, BLOCK_BYTES);

        process->blocks[block].address = r == CUDA_SUCCESS ? address : 0;
        if (r == CUDA_SUCCESS)
                block_write(process, block);
        else if (r != CUDA_ERROR_OUT_OF_MEMORY)
                good(process, r);
}

static void block_renew(struct process *process, unsigned block)
{
        if (process->blocks[block].address) {
                block_check(process, block);
                good(process, cuMemFree_v2(process->blocks[block].address));
        }
        block_take(process, block);
}

static void block_use(struct process *process, unsigned block, CUstream stream)
{
        void *params[] = { &process->blocks[block].address };

        if (process->blocks[block].address)
                good(process,
                     cuLaunchKernel(process->kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

/* A window of the blocks, which is somewhere else a while later. */
static void pass(struct process *process, unsigned number)
{
        const unsigned hot = process->count / HOT_PART;
        const unsigned first = number / SHIFT_EVERY * hot;
        size_t free_bytes, total_bytes;

        for (unsigned i = 0; i < hot; i++)
                block_use(process, (first + i) % process->count, process->streams[i % 2]);
        good(process, cuCtxSynchronize());
        const unsigned block = chance(process, process->count);
        if (process->blocks[block].address) {
                block_check(process, block);
                block_write(process, block);
        }
        if (number % RENEW_EVERY == 0)
                block_renew(process, chance(process, process->count));
        good(process, cuMemGetInfo_v2(&free_bytes, &total_bytes)); /* looks for the dead */
        atomic_fetch_add(&process->board->processes[process->index].work, 1);
}

static bool process_open(struct process *process)
{
        CUcontext context;
        CUmodule module;

        if (!good(process, cuInit(0)) || !good(process, cuCtxCreate_v2(&context, 0, 0)) ||
            !good(process, cuModuleLoadData(&module, ptx)) ||
            !good(process, cuModuleGetFunction(&process->kernel, module, "moving_user")))
                return false;
        for (unsigned i = 0; i < 2; i++)
                if (!good(process, cuStreamCreate(&process->streams[i], CU_STREAM_NON_BLOCKING)))
                        return false;
        for (unsigned i = 0; i < process->count; i++)
                block_take(process, i);
        return true;
}

int moving_work(struct moving_board *board, unsigned index, enum moving_kind kind, unsigned blocks,
                unsigned seed)
{
        static struct process process;

        process = (struct process){ .board = board,
                                    .index = index,
                                    .count = blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST,
                                    .seed = seed,
                                    .kind = kind };
        if (!process_open(&process))
                return 1;
        for (unsigned i = 0;; i++)
                pass(&process, i);
}
