/* SPDX-License-Identifier: Apache-2.0 */
/* share_memory: work that uses its memory, and how much of it was done. On share_load's machine.
 *
 *   share_memory KIND MIB HOT WARM_UP SECONDS [write]
 *
 * Allocates MIB in blocks: by cuMemAlloc (`device`), cuMemAllocManaged (`managed`), or in turn (`mixed`). Then
 * kernels use each of the last HOT MIB's blocks for a millisecond, one after another, again and again. Prints how
 * many milliseconds of work were done in the SECONDS after the WARM_UP, and fails if a block lost its contents. With
 * `write` one block is looked at and written to after each round. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_must.h"
#include "clock.h"
#include "cuda_prototypes.h"

enum { BLOCK_MIB = 64, BLOCKS_MOST = 1024, MARKS = 4 };
#define BLOCK_BYTES ((size_t)BLOCK_MIB << 20)

static const char ptx[] = ".version 6.3\n.target sm_70\n.address_size 64\n"
                          ".visible .entry k1ms()\n{\nret;\n}\n"
                          ".visible .entry user(.param .u64 memory)\n{\nret;\n}\n";

struct load {
        CUfunction user, k1ms; /* what memory costs is counted of kernels that the machine runs */
        CUdeviceptr blocks[BLOCKS_MOST];
        unsigned generations[BLOCKS_MOST]; /* of what was written */
        unsigned count, hot, rounds;
        bool writes;
        uint64_t done_ms;
};

static CUdeviceptr mark_address(const struct load *load, unsigned block, unsigned mark)
{
        return load->blocks[block] + (BLOCK_BYTES - sizeof(unsigned)) / (MARKS - 1) / 4 * 4 * mark;
}

static unsigned mark_of(const struct load *load, unsigned block, unsigned mark)
{
        return block * 2654435761u + mark * 40503u + load->generations[block] + 1;
}

static void block_write(const struct load *load, unsigned block)
{
        for (unsigned i = 0; i < MARKS; i++) {
                const unsigned mark = mark_of(load, block, i);

                MUST(cuMemcpyHtoD_v2(mark_address(load, block, i), &mark, sizeof mark));
        }
}

static void block_check(const struct load *load, unsigned block)
{
        unsigned mark;

        for (unsigned i = 0; i < MARKS; i++) {
                MUST(cuMemcpyDtoH_v2(&mark, mark_address(load, block, i), sizeof mark));
                if (mark != mark_of(load, block, i)) {
                        fprintf(stderr, "share_memory: block %u lost its contents\n", block);
                        exit(1);
                }
        }
}

static void block_renew(struct load *load, unsigned block)
{
        block_check(load, block);
        load->generations[block]++;
        block_write(load, block);
}

static void load_open(struct load *load, const char *kind, unsigned mib, unsigned hot_mib)
{
        CUcontext context;
        CUmodule module;

        MUST(cuInit(0));
        MUST(cuCtxCreate_v2(&context, 0, 0));
        MUST(cuModuleLoadData(&module, ptx));
        MUST(cuModuleGetFunction(&load->user, module, "user"));
        MUST(cuModuleGetFunction(&load->k1ms, module, "k1ms"));
        load->count = mib / BLOCK_MIB < BLOCKS_MOST ? mib / BLOCK_MIB : BLOCKS_MOST;
        load->hot = hot_mib / BLOCK_MIB < load->count ? hot_mib / BLOCK_MIB : load->count;
        for (unsigned i = 0; i < load->count; i++) {
                const bool is_managed =
                        strcmp(kind, "managed") == 0 || (strcmp(kind, "mixed") == 0 && i % 2);

                MUST(is_managed ? cuMemAllocManaged(&load->blocks[i], BLOCK_BYTES,
                                                    CU_MEM_ATTACH_GLOBAL)
                                : cuMemAlloc_v2(&load->blocks[i], BLOCK_BYTES));
        }
        for (unsigned i = 0; i < load->count; i++)
                block_write(load, i);
}

static void pass(struct load *load)
{
        for (unsigned i = load->count - load->hot; i < load->count; i++) {
                void *params[] = { &load->blocks[i] };

                MUST(cuLaunchKernel(load->user, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
                MUST(cuLaunchKernel(load->k1ms, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
                if (i % 4 == 3)
                        MUST(cuCtxSynchronize());
                load->done_ms++;
        }
        MUST(cuCtxSynchronize());
}

static void passes_until(struct load *load, uint64_t end_ns)
{
        while (clock_now_ns() < end_ns) {
                pass(load);
                if (load->writes)
                        block_renew(load, load->rounds++ * 7 % load->count);
        }
}

int main(int argc, char **argv)
{
        static struct load load;

        load.writes = argc == 7 && strcmp(argv[6], "write") == 0;
        if (argc != 6 + load.writes) {
                fputs("Usage: share_memory KIND MIB HOT_MIB WARM_UP SECONDS [write]\n", stderr);
                return 2;
        }
        const uint64_t begin_ns = clock_now_ns();
        const uint64_t warm_ns = begin_ns + (uint64_t)(atof(argv[4]) * (double)NS_PER_S);
        load_open(&load, argv[1], (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
        passes_until(&load, warm_ns);
        load.done_ms = 0;
        const uint64_t since_ns = clock_now_ns();
        passes_until(&load, warm_ns + (uint64_t)(atof(argv[5]) * (double)NS_PER_S));
        printf("done_percent %.2f\n",
               100 * (double)load.done_ms * 1e6 / (double)(clock_now_ns() - since_ns));
        fflush(stdout);
        for (unsigned i = 0; i < load.count; i++)
                block_check(&load, i);
        return 0;
}
