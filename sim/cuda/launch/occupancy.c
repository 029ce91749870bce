/* SPDX-License-Identifier: Apache-2.0 */
/* cuOccupancy*: questions about the launch that would fill the device. */
#include "occupancy.h"

#include "function_handle.h"
#include "sim_cuda.h"

enum {
        CLUSTER_PORTABLE = 8, /* blocks that a cluster may have on every such device */
        CLUSTER_MAX = 16,
        GPC_MULTIPROCESSORS = 16, /* a cluster lives within one such group */
};

/* The function, what a block of it takes, and the context it would run in. */
struct question {
        struct function *function;
        struct context *context;
        const struct machine_gpu *gpu;
        unsigned sm_count;
        struct occupancy_need need;
};

static CUresult question_init(struct question *question, CUfunction handle, int threads,
                              size_t dynamic_bytes)
{
        CUresult r = context_need(&question->context);

        if (r == CUDA_SUCCESS)
                r = function_need(handle, &question->function);
        if (r != CUDA_SUCCESS)
                return r;

        const _Atomic int *attributes = question->function->attributes;

        question->gpu = device_gpu(question->context->device);
        question->sm_count = question->context->sm_count;
        if (question->sm_count == 0)
                question->sm_count = device_unit(question->context->device)->sm_count;
        question->need = (struct occupancy_need){
                .threads = (unsigned)threads,
                .registers = (unsigned)attributes[CU_FUNC_ATTRIBUTE_NUM_REGS],
                .max_threads = (unsigned)attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
                .static_bytes = (size_t)attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES],
                .dynamic_bytes = dynamic_bytes,
                .max_dynamic_bytes =
                        (size_t)attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES],
        };
        return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
                                                                  int blockSize,
                                                                  size_t dynamicSMemSize,
                                                                  unsigned int flags)
{
        struct question question;

        if (!numBlocks || blockSize <= 0 || flags & ~1u)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = question_init(&question, func, blockSize, dynamicSMemSize);

        if (r == CUDA_SUCCESS)
                *numBlocks = (int)occupancy_blocks(question.gpu, &question.need);
        return r;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                         int blockSize, size_t dynamicSMemSize)
{
        return sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
                                                                        dynamicSMemSize, 0);
}

CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
                                                     int numBlocks, int blockSize)
{
        struct question question;

        if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = question_init(&question, func, blockSize, 0);

        if (r != CUDA_SUCCESS)
                return r;
        if ((unsigned)numBlocks > occupancy_blocks(question.gpu, &question.need))
                return CUDA_ERROR_INVALID_VALUE;
        *dynamicSmemSize =
                occupancy_dynamic_bytes(question.gpu, &question.need, (unsigned)numBlocks);
        return CUDA_SUCCESS;
}

/* Tries block sizes from the largest down; the first that keeps the most threads resident wins. */
CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(
        int *minGridSize, int *blockSize, CUfunction func,
        CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
        unsigned int flags)
{
        struct question question;

        if (!minGridSize || !blockSize || blockSizeLimit < 0 || flags & ~1u)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = question_init(&question, func, 0, dynamicSMemSize);

        if (r != CUDA_SUCCESS)
                return r;

        unsigned limit = question.need.max_threads, best_threads = 0, best = 0, best_blocks = 0;

        if (blockSizeLimit > 0 && (unsigned)blockSizeLimit < limit)
                limit = (unsigned)blockSizeLimit;

        unsigned aligned = (limit + OCCUPANCY_WARP - 1) / OCCUPANCY_WARP * OCCUPANCY_WARP;

        for (; aligned > 0 && best_threads < question.gpu->threads_per_sm;
             aligned -= OCCUPANCY_WARP) {
                unsigned threads = aligned < limit ? aligned : limit;

                question.need.threads = threads;
                if (blockSizeToDynamicSMemSize)
                        question.need.dynamic_bytes = blockSizeToDynamicSMemSize((int)threads);

                unsigned blocks = occupancy_blocks(question.gpu, &question.need);

                if (blocks * threads > best_threads) {
                        best_threads = blocks * threads;
                        best = threads;
                        best_blocks = blocks;
                }
        }
        *minGridSize = (int)(best_blocks * question.sm_count);
        *blockSize = (int)best;
        return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                              CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                              size_t dynamicSMemSize, int blockSizeLimit)
{
        return sim_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
                                                             blockSizeToDynamicSMemSize,
                                                             dynamicSMemSize, blockSizeLimit, 0);
}

static unsigned cluster_limit(const struct question *question)
{
        bool is_large =
                question->function->attributes[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];

        return is_large ? CLUSTER_MAX : CLUSTER_PORTABLE;
}

/* The cluster that a launch asks for, or the kernel requires; 0: none. */
static unsigned cluster_blocks(const struct question *question, const CUlaunchConfig *config)
{
        const _Atomic int *attributes = question->function->attributes;
        unsigned blocks = (unsigned)(attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] *
                                     attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT] *
                                     attributes[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH]);

        for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
                const CUlaunchAttributeValue *value = &config->attrs[i].value;
                unsigned long product;

                if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
                        continue;
                product = (unsigned long)value->clusterDim.x * value->clusterDim.y *
                          value->clusterDim.z;
                blocks = product > CLUSTER_MAX ? CLUSTER_MAX + 1 : (unsigned)product;
        }
        return blocks;
}

/* Blocks that one group of multiprocessors holds at once, and how many groups there are. */
static unsigned group_blocks(struct question *question, const CUlaunchConfig *config,
                             unsigned *ret_groups)
{
        unsigned size =
                question->sm_count < GPC_MULTIPROCESSORS ? question->sm_count : GPC_MULTIPROCESSORS;
        unsigned long threads =
                (unsigned long)config->blockDimX * config->blockDimY * config->blockDimZ;

        question->need.threads = threads > OCCUPANCY_MAX_THREADS ? 0 : (unsigned)threads;
        *ret_groups = size ? question->sm_count / size : 0;
        return size * occupancy_blocks(question->gpu, &question->need);
}

CUresult sim_cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
                                          const CUlaunchConfig *config)
{
        struct question question;
        unsigned groups;

        if (!numClusters || !config)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = question_init(&question, func, 0, config->sharedMemBytes);

        if (r != CUDA_SUCCESS)
                return r;

        unsigned cluster = cluster_blocks(&question, config);

        if (question.gpu->capability_major < 9 || cluster == 0 ||
            cluster > cluster_limit(&question))
                return CUDA_ERROR_INVALID_CLUSTER_SIZE;

        unsigned blocks = group_blocks(&question, config, &groups);

        *numClusters = (int)(blocks / cluster * groups);
        return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
                                                const CUlaunchConfig *config)
{
        struct question question;
        unsigned groups;

        if (!clusterSize || !config)
                return CUDA_ERROR_INVALID_VALUE;

        CUresult r = question_init(&question, func, 0, config->sharedMemBytes);

        if (r != CUDA_SUCCESS)
                return r;
        if (question.gpu->capability_major < 9)
                return CUDA_ERROR_NOT_SUPPORTED;

        unsigned blocks = group_blocks(&question, config, &groups);
        unsigned limit = cluster_limit(&question), size = 1;

        while (size * 2 <= limit && size * 2 <= blocks)
                size *= 2;
        *clusterSize = blocks ? (int)size : 0;
        return CUDA_SUCCESS;
}
