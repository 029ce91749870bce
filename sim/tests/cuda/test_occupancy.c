/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of cuOccupancy*: the questions as programs ask them. */
#include "cuda_prototypes.h"
#include "sim.h"

/* Its machine code would have few registers; 32 at most. */
static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry light() { ret; }\n"
                          ".visible .entry limited() .maxntid 96, 1, 1 { ret; }\n"
                          ".visible .entry sharing()\n"
                          "{\n"
                          "  .shared .align 4 .b8 tile[16384];\n"
                          "  .reg .b32 %r<2>;\n"
                          "  mov.u32 %r1, tile;\n"
                          "  st.shared.u32 [%r1], %r1;\n"
                          "  ret;\n"
                          "}\n";

static CUmodule module;

static void start(const char *preset)
{
        CUcontext context;

        sim_machine(preset, 1);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
        CHECK_EQ(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
}

static CUfunction function_of(const char *name)
{
        CUfunction function;

        CHECK_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
        return function;
}

static int blocks(const char *name, int threads, size_t dynamic)
{
        int count = -1;

        CHECK_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function_of(name), threads,
                                                             dynamic),
                 CUDA_SUCCESS);
        return count;
}

SIM_TEST(blocks_per_multiprocessor_of_an_a100)
{
        start("a100-40gb");
        CHECK_EQ(blocks("light", 256, 0), 8);
        CHECK_EQ(blocks("light", 1024, 0), 2);
        CHECK_EQ(blocks("light", 32, 0), 32);
        CHECK_EQ(blocks("limited", 96, 0), 21);
        CHECK_EQ(blocks("limited", 128, 0), 0);
        CHECK_EQ(blocks("sharing", 128, 0), 9); /* 164 KiB over 17 */
        CHECK_EQ(blocks("sharing", 128, 32 << 10), 3);
}

SIM_TEST(more_shared_memory_must_be_asked_for)
{
        start("a100-40gb");
        CHECK_EQ(blocks("light", 128, 100 << 10), 0);
        CHECK_EQ(cuFuncSetAttribute(function_of("light"),
                                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10),
                 CUDA_SUCCESS);
        CHECK_EQ(blocks("light", 128, 100 << 10), 1);
}

SIM_TEST(bad_questions_are_refused)
{
        int count;

        start("t4-16gb");
        CHECK_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function_of("light"), 0, 0),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function_of("light"), 32, 0),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, NULL, 32, 0),
                 CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&count, function_of("light"),
                                                                      32, 0, 2),
                 CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(the_block_size_that_fills_the_device)
{
        int grid, block;

        start("a100-40gb");
        CHECK_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, function_of("light"), NULL, 0, 0),
                 CUDA_SUCCESS);
        CHECK_EQ(block, 1024);
        CHECK_EQ(grid, 2 * 108);
        CHECK_EQ(
                cuOccupancyMaxPotentialBlockSize(&grid, &block, function_of("light"), NULL, 0, 200),
                CUDA_SUCCESS);
        CHECK_EQ(block, 128); /* 16 × 128 fills it; 10 × 192 and 9 × 200 do not */
        CHECK_EQ(grid, 16 * 108);
        CHECK_EQ(
                cuOccupancyMaxPotentialBlockSize(&grid, &block, function_of("limited"), NULL, 0, 0),
                CUDA_SUCCESS);
        CHECK_EQ(block, 64); /* 32 × 64 fills it, 21 × 96 does not */
}

static size_t per_thread(int threads)
{
        return (size_t)threads * 64;
}

SIM_TEST(the_block_size_may_decide_the_shared_memory)
{
        int grid, block;

        start("a100-40gb");
        CHECK_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, function_of("light"), per_thread,
                                                  0, 0),
                 CUDA_SUCCESS);
        CHECK_EQ(block, 512); /* 33 KiB: 4 blocks; 1024 would need 65: 2 blocks, over 48 */
        CHECK_EQ(grid, 4 * 108);
}

SIM_TEST(shared_memory_left_for_so_many_blocks)
{
        size_t bytes = 0;

        start("a100-40gb");
        CHECK_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function_of("sharing"), 4, 128),
                 CUDA_SUCCESS);
        CHECK_EQ(bytes, (41 - 17) << 10);
        CHECK_EQ(blocks("sharing", 128, bytes), 4);
        CHECK_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function_of("sharing"), 10, 128),
                 CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(clusters_need_a_device_that_has_them)
{
        CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
        CUlaunchConfig config = { .gridDimX = 16,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 1024,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .attrs = &attribute,
                                  .numAttrs = 1 };
        int size = -1, count = -1;

        attribute.value.clusterDim.x = 4;
        attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
        start("h100-80gb");
        CHECK_EQ(cuOccupancyMaxPotentialClusterSize(&size, function_of("light"), &config),
                 CUDA_SUCCESS);
        CHECK_EQ(size, 8);
        CHECK_EQ(cuFuncSetAttribute(function_of("light"),
                                    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                 CUDA_SUCCESS);
        CHECK_EQ(cuOccupancyMaxPotentialClusterSize(&size, function_of("light"), &config),
                 CUDA_SUCCESS);
        CHECK_EQ(size, 16);
        CHECK_EQ(cuOccupancyMaxActiveClusters(&count, function_of("light"), &config), CUDA_SUCCESS);
        CHECK_EQ(count, 132 / 16 * (16 * 2 / 4));
}

SIM_TEST(older_devices_have_no_clusters)
{
        CUlaunchConfig config = { .gridDimX = 8,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 64,
                                  .blockDimY = 1,
                                  .blockDimZ = 1 };
        int value;

        start("a100-40gb");
        CHECK_EQ(cuOccupancyMaxPotentialClusterSize(&value, function_of("light"), &config),
                 CUDA_ERROR_NOT_SUPPORTED);
        CHECK_EQ(cuOccupancyMaxActiveClusters(&value, function_of("light"), &config),
                 CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

int main(void)
{
        return RUN(CASE(blocks_per_multiprocessor_of_an_a100),
                   CASE(more_shared_memory_must_be_asked_for), CASE(bad_questions_are_refused),
                   CASE(the_block_size_that_fills_the_device),
                   CASE(the_block_size_may_decide_the_shared_memory),
                   CASE(shared_memory_left_for_so_many_blocks),
                   CASE(clusters_need_a_device_that_has_them),
                   CASE(older_devices_have_no_clusters));
}
