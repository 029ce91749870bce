/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what kernels ask of the driver: malloc, printf, assert, and a grid that waits. */
#include <fcntl.h>
#include <unistd.h>

#include "memory_fixture.h"

static CUmodule module;

static CUfunction function(const char *name)
{
        CUfunction found;

        if (!module)
                GOOD(cuModuleLoad(&module, TEST_DATA "/kernel.ptx"));
        GOOD(cuModuleGetFunction(&found, module, name));
        return found;
}

static CUresult run(const char *name, unsigned blocks, unsigned threads, void **params)
{
        CUresult r =
                cuLaunchKernel(function(name), blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL);

        return r ? r : cuCtxSynchronize();
}

enum { BLOCKS = 40, THREADS = 100, TAKERS = BLOCKS * THREADS };

/* Each thread takes so many words; how many were refused. */
static unsigned take(CUdeviceptr out, int words)
{
        static CUdeviceptr blocks[TAKERS];
        unsigned refused = 0;

        GOOD(run("take", BLOCKS, THREADS, (void *[]){ &out, &words }));
        GOOD(cuMemcpyDtoH_v2(blocks, out, sizeof blocks));
        for (unsigned i = 0; i < TAKERS; i++) {
                CHECK_EQ(blocks[i] % 16, 0);
                refused += !blocks[i];
        }
        return refused;
}

/* Frees them; how many words were not as they were left. */
static int give(CUdeviceptr out, int words)
{
        CUdeviceptr wrong;
        int back = -1;

        GOOD(cuMemAlloc_v2(&wrong, 4));
        GOOD(cuMemsetD32_v2(wrong, 0, 1));
        GOOD(run("give", BLOCKS, THREADS, (void *[]){ &out, &words, &wrong }));
        GOOD(cuMemcpyDtoH_v2(&back, wrong, 4));
        GOOD(cuMemFree_v2(wrong));
        return back;
}

SIM_TEST(what_one_kernel_takes_the_next_one_has)
{
        CUdeviceptr out, first;

        one_gpu();
        GOOD(cuMemAlloc_v2(&out, TAKERS * 8));
        size_t before = free_bytes();
        for (int round = 1; round < 20; round++) {
                CHECK_EQ(take(out, round * 3), 0);
                CHECK_EQ(give(out, round * 3), 0);
        }
        /* The heap is a part of the context, and its blocks are no memory of the host's calls. */
        CHECK_EQ(before, free_bytes());
        CHECK_EQ(take(out, 3), 0);
        GOOD(cuMemcpyDtoH_v2(&first, out, 8));
        CHECK_EQ(cuMemFree_v2(first), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(a_full_heap_gives_null)
{
        enum { WORDS = 1 << 10, MOST = (8 << 20) / (WORDS * 4) };
        CUdeviceptr out;

        one_gpu();
        GOOD(cuMemAlloc_v2(&out, TAKERS * 8));
        unsigned refused = take(out, WORDS);
        CHECK(refused >= TAKERS - MOST && refused < TAKERS - MOST + 64);
        CHECK_EQ(give(out, WORDS), 0);
        /* All of it came back, and in one piece. */
        CHECK_EQ(take(out, WORDS), refused);
        CHECK_EQ(give(out, WORDS), 0);
        CHECK_EQ(take(out, 2 * MOST / 3 * WORDS), TAKERS - 1);
}

SIM_TEST(the_limit_is_the_heap)
{
        enum { WORDS = 1 << 10 };
        CUdeviceptr out;

        one_gpu();
        GOOD(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * MIB));
        GOOD(cuMemAlloc_v2(&out, TAKERS * 8));
        CHECK_EQ(take(out, WORDS), 0);
        CHECK_EQ(give(out, WORDS), 0);
}

SIM_TEST(each_context_has_its_heap)
{
        CUcontext contexts[2];
        CUdeviceptr out;

        one_gpu();
        for (unsigned round = 0; round < 3; round++) {
                GOOD(cuCtxCreate_v2(&contexts[0], 0, 0));
                module = NULL;
                GOOD(cuMemAlloc_v2(&out, TAKERS * 8));
                CHECK(take(out, 1 << 10) < TAKERS);
                /* Not freed: it goes with the context. */
                GOOD(cuCtxDestroy_v2(contexts[0]));
        }
}

/* What the process writes to a descriptor from now on goes to a file. */
static int stream_catch(int fd)
{
        char path[] = "/tmp/vgpu-test-XXXXXX";
        int file = mkstemp(path);

        CHECK(file >= 0);
        unlink(path);
        CHECK_EQ(dup2(file, fd), fd);
        return file;
}

static const char *caught(int file)
{
        static char text[8192];

        fflush(stdout);
        ssize_t length = pread(file, text, sizeof text - 1, 0);
        CHECK(length >= 0);
        text[length] = 0;
        return text;
}

SIM_TEST(printed_text_comes_with_the_synchronisation)
{
        uint64_t nothing = 0;

        one_gpu();
        CUfunction say = function("say");
        fflush(stdout);
        int back = dup(STDOUT_FILENO), file = stream_catch(STDOUT_FILENO);
        GOOD(cuLaunchKernel(say, 2, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &nothing }, NULL));
        usleep(50000);
        CHECK_STR(caught(file), "");
        GOOD(cuCtxSynchronize());
        const char *text = caught(file);
        dup2(back, STDOUT_FILENO);
        CHECK(strstr(text, "block 0 of many, 1.50\n"));
        CHECK(strstr(text, "block 1 of many, 1.50\n"));
        CHECK_EQ(strlen(text), 44);
}

SIM_TEST(a_failed_assertion_speaks_on_stderr)
{
        int most = 30;
        CUdeviceptr a;

        one_gpu();
        GOOD(run("check", 1, 30, (void *[]){ &most }));
        int back = dup(STDERR_FILENO), file = stream_catch(STDERR_FILENO);
        CHECK_EQ(run("check", 1, 32, (void *[]){ &most }), CUDA_ERROR_ASSERT);
        const char *text = caught(file);
        dup2(back, STDERR_FILENO);
        CHECK(strstr(text, "kernel.cu:"));
        CHECK(strstr(text, "check(int): block: [0,0,0], thread: [30,0,0] Assertion `"));
        CHECK(strstr(text, "thread: [31,0,0] Assertion `(int)threadIdx.x < most` failed.\n"));
        /* The context is lost. */
        CHECK_EQ(cuMemAlloc_v2(&a, 4), CUDA_ERROR_ASSERT);
}

SIM_TEST(a_grid_waits_for_all_its_blocks)
{
        enum { GRID = 64, BLOCK = 96, COUNT = GRID * BLOCK, ROUNDS = 9 };
        static int start[COUNT], back[COUNT], wanted[COUNT], next[COUNT];
        CUdeviceptr a, b;
        int rounds = ROUNDS;

        one_gpu();
        for (int i = 0; i < COUNT; i++)
                wanted[i] = start[i] = i * i;
        for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < COUNT; i++)
                        next[i] = wanted[(i + BLOCK + 1) % COUNT] + 1;
                memcpy(wanted, next, sizeof next);
        }
        GOOD(cuMemAlloc_v2(&a, sizeof start));
        GOOD(cuMemAlloc_v2(&b, sizeof start));
        GOOD(cuMemcpyHtoD_v2(a, start, sizeof start));
        GOOD(cuLaunchCooperativeKernel(function("rounds"), GRID, 1, 1, BLOCK, 1, 1, 0, NULL,
                                       (void *[]){ &a, &b, &rounds }));
        GOOD(cuMemcpyDtoH_v2(back, ROUNDS % 2 ? b : a, sizeof back));
        CHECK(!memcmp(back, wanted, sizeof back));
}

int main(void)
{
        return RUN(CASE(what_one_kernel_takes_the_next_one_has), CASE(a_full_heap_gives_null),
                   CASE(the_limit_is_the_heap), CASE(each_context_has_its_heap),
                   CASE(printed_text_comes_with_the_synchronisation),
                   CASE(a_failed_assertion_speaks_on_stderr),
                   CASE(a_grid_waits_for_all_its_blocks));
}
