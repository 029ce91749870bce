/* SPDX-License-Identifier: Apache-2.0 */
/* What an interposer must not do to its host: start unasked, make contexts, wait for streams, mix up
 * containers. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

/* The driver's own record of the calls that reached it. */
static char *calls_path(void)
{
        static char path[128];

        snprintf(path, sizeof path, "/tmp/vgpu-test-calls-%d", getpid());
        return path;
}

static void calls_begin(void)
{
        setenv("VGPU_SIM_LOG", calls_path(), 1);
}

static const char *calls(void)
{
        static char text[1 << 16];
        int file = open(calls_path(), O_RDONLY);
        ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);

        text[length > 0 ? length : 0] = '\0';
        close(file);
        unlink(calls_path());
        return text;
}

SIM_TEST(no_context_is_made_to_learn_who_we_are)
{
        guest_machine_with(2, 40 * MIB);
        calls_begin();
        setenv("VGPU_MEMORY_LIMIT", "100m", 1);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(guest_device_bytes(0), 0);
        CHECK_EQ(guest_device_bytes(1), 0);
        const char *text = calls();
        CHECK(strstr(text, "cuInit") != NULL);
        CHECK(!strstr(text, "CtxCreate") && !strstr(text, "PrimaryCtxRetain"));
}

SIM_TEST(an_allocation_in_stream_order_waits_for_no_stream)
{
        CUdeviceptr address[8];
        CUstream stream;

        guest_machine(1);
        calls_begin();
        guest_start("100m");
        CHECK_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
        for (unsigned i = 0; i < 8; i++)
                CHECK_EQ(cuMemAllocAsync(&address[i], 8 * MIB, stream), CUDA_SUCCESS);
        for (unsigned i = 0; i < 8; i++)
                CHECK_EQ(cuMemFreeAsync(address[i], stream), CUDA_SUCCESS);
        const char *text = calls();
        CHECK(strstr(text, "cuMemAllocAsync") != NULL);
        CHECK(!strstr(text, "Synchronize"));
}

/* Once, for the size of the GPU: what is held is in the ledger. */
SIM_TEST(what_is_free_is_not_asked_of_the_driver)
{
        size_t free_bytes, total_bytes;

        guest_machine(1);
        calls_begin();
        guest_start("100m");
        for (unsigned i = 0; i < 8; i++)
                CHECK_EQ(cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
        const char *first = strstr(calls(), "cuMemGetInfo");
        CHECK(!first || !strstr(first + 1, "cuMemGetInfo"));
}

/* A start would say that the limit cannot be read: silence is no start. */
SIM_TEST(a_name_that_begins_alike_starts_nothing)
{
        char path[] = "/tmp/vgpu-test-said-XXXXXX";
        int file = mkstemp(path), keep = dup(STDERR_FILENO);

        unlink(path);
        setenv("VGPU_MEMORY_LIMIT", "nonsense", 1);
        dup2(file, STDERR_FILENO);
        void *self = dlopen(NULL, RTLD_NOW);
        CHECK(dlsym(self, "cublasCreate_v2") == NULL);
        CHECK(dlsym(self, "curl_easy_init") == NULL);
        CHECK(dlsym(self, "cudaMalloc") == NULL);
        CHECK(dlsym(self, "nvmlNothing") == NULL);
        CHECK(dlsym(self, "cuMemAlloc_v2") != NULL);
        dup2(keep, STDERR_FILENO);
        CHECK_EQ(lseek(file, 0, SEEK_END), 0);
        close(file);
}

SIM_TEST(a_second_look_up_in_what_comes_next_finds_the_same)
{
        void *first = dlsym(RTLD_NEXT, "cuMemAlloc_v2");

        CHECK(first != NULL);
        CHECK(dlsym(RTLD_NEXT, "cuMemAlloc_v2") == first);
        CHECK(dlsym(RTLD_NEXT, "cuInit") != NULL);
        CHECK(dlsym(RTLD_NEXT, "cuInit") == dlsym(RTLD_NEXT, "cuInit"));
}

/* Another container on the same GPU, with a region and a limit of its own. */
static int other_container(void)
{
        CUdeviceptr address;
        char path[160];

        snprintf(path, sizeof path, "%s-other", getenv("VGPU_REGION"));
        setenv("VGPU_REGION", path, 1);
        guest_start("60m");
        unlink(path);
        if (cuMemAlloc_v2(&address, 62 * MIB) != CUDA_ERROR_OUT_OF_MEMORY)
                return 1;
        return cuMemAlloc_v2(&address, 60 * MIB) == CUDA_SUCCESS && guest_held() == 60 * MIB ? 0
                                                                                             : 2;
}

SIM_TEST(containers_of_one_pod_have_a_limit_each)
{
        CUdeviceptr address;
        int ready[2], result = -1;

        guest_machine(1);
        CHECK_EQ(pipe(ready), 0);
        pid_t child = fork();
        if (child == 0) { /* keeps its own while we allocate ours */
                result = other_container();
                if (write(ready[1], &result, sizeof result) == sizeof result)
                        pause();
                _exit(1);
        }
        CHECK_EQ(read(ready[0], &result, sizeof result), sizeof result);
        guest_start("100m");
        CHECK_EQ(cuMemAlloc_v2(&address, 102 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemAlloc_v2(&address, 100 * MIB), CUDA_SUCCESS);
        CHECK_EQ(guest_held(), 100 * MIB);
        CHECK_EQ(guest_device_bytes(0), 160 * MIB);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        CHECK_EQ(result, 0);
}

/* errno is the program's, whatever we do behind its back. */
SIM_TEST(errno_is_kept)
{
        CUdeviceptr address;

        guest_machine(1);
        guest_start("100m");
        errno = EXDEV;
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&address, 60 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(errno, EXDEV);
}

int main(void)
{
        return RUN(CASE(no_context_is_made_to_learn_who_we_are),
                   CASE(an_allocation_in_stream_order_waits_for_no_stream),
                   CASE(what_is_free_is_not_asked_of_the_driver),
                   CASE(a_name_that_begins_alike_starts_nothing),
                   CASE(a_second_look_up_in_what_comes_next_finds_the_same),
                   CASE(containers_of_one_pod_have_a_limit_each), CASE(errno_is_kept));
}
