/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever set a limit does not run without one: what cannot hold is refused by both libraries, in a sentence
 * that has the variable. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "mig.h"
#include "nvml_prototypes.h"

enum answer { ALL_OPEN, ALL_CLOSED, DIFFERENT };

/* What the two libraries say; a program that ignores their answers finds nothing behind them. */
static enum answer ask(void)
{
        unsigned count = 0;
        int ordinals = 0;
        const CUresult cuda = cuInit(0);
        const nvmlReturn_t nvml[] = { nvmlInit_v2(), nvmlInit(), nvmlInitWithFlags(0) };
        const nvmlReturn_t counted = nvmlDeviceGetCount_v2(&count);
        const CUresult found = cuDeviceGetCount(&ordinals);

        if (cuda == CUDA_SUCCESS && nvml[0] == NVML_SUCCESS && counted == NVML_SUCCESS && count &&
            found == CUDA_SUCCESS)
                return ALL_OPEN;
        for (unsigned i = 0; i < 3; i++)
                if (nvml[i] != NVML_ERROR_NO_PERMISSION)
                        return DIFFERENT;
        return cuda == CUDA_ERROR_NOT_PERMITTED && counted == NVML_ERROR_UNINITIALIZED &&
                               found == CUDA_ERROR_NOT_INITIALIZED
                       ? ALL_CLOSED
                       : DIFFERENT;
}

/* Variables are divided by '|'. */
static void variables_set(const char *variables)
{
        char text[1024];

        snprintf(text, sizeof text, "%s", variables);
        for (char *one = strtok(text, "|"); one; one = strtok(NULL, "|"))
                putenv(strdup(one));
}

static char said[4096];

/* Does it in a process of its own, with these variables; what it wrote to standard error is in `said`. */
static int attempt(const char *variables, int (*act)(void))
{
        char path[] = "/tmp/vgpu-test-said-XXXXXX";
        int file = mkstemp(path), status;

        unlink(path);
        pid_t pid = fork();
        if (pid == 0) {
                dup2(file, STDERR_FILENO);
                variables_set(variables);
                _exit(act());
        }
        waitpid(pid, &status, 0);
        ssize_t length = pread(file, said, sizeof said - 1, 0);
        said[length > 0 ? length : 0] = '\0';
        close(file);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int ask_now(void)
{
        return ask();
}

static unsigned lines(void)
{
        unsigned count = 0;

        for (const char *p = said; *p; p++)
                count += *p == '\n';
        return count;
}

/* Closed, with one sentence that has the part. */
static void closed(const char *variables, const char *part)
{
        const int answer = attempt(variables, ask_now);

        if (answer != ALL_CLOSED || lines() != 1 || !strstr(said, part) ||
            !strstr(said, "the program gets no GPU"))
                fail_msg("%s: answer %d, said '%s'", variables, answer, said);
}

static void open_silently(const char *variables)
{
        const int answer = attempt(variables, ask_now);

        if (answer != ALL_OPEN || *said)
                fail_msg("%s: answer %d, said '%s'", variables, answer, said);
}

#define ABSENT "GPU-00000000-0000-0000-0000-000000000000"

SIM_TEST(a_limit_on_a_gpu_that_is_not_here_gives_none)
{
        guest_machine(2);
        closed("GPU_DEVICES_UUID=" ABSENT "|CUDA_MEM_LIMIT_0=1g", "CUDA_MEM_LIMIT_0");
        closed("VGPU_DEVICES=" ABSENT "|VGPU_MEMORY_LIMIT_0=1g", "VGPU_DEVICES");
        closed("NVIDIA_VISIBLE_DEVICES=" ABSENT "|CUDA_DEVICE_MEMORY_LIMIT_0=1g",
               "CUDA_DEVICE_MEMORY_LIMIT_0");
        closed("MANAGER_VISIBLE_DEVICES=" ABSENT "|CUDA_CORE_LIMIT_0=30", "CUDA_CORE_LIMIT_0");
        closed("MANAGER_VISIBLE_DEVICE_0=" ABSENT "|CUDA_MEM_LIMIT_0=1g",
               "MANAGER_VISIBLE_DEVICE_0");
        closed("VGPU_DEVICES=" ABSENT "," ABSENT "|VGPU_CORES_1=30", "VGPU_CORES_1");
}

SIM_TEST(a_limit_with_a_number_that_no_gpu_has_gives_none)
{
        guest_machine(2);
        closed("CUDA_MEM_LIMIT_5=1g", "CUDA_MEM_LIMIT_5: there is no GPU 5 here, only 2 GPUs");
        closed("VGPU_MEMORY_LIMIT=1g|VGPU_MEMORY_LIMIT_2=2g", "VGPU_MEMORY_LIMIT_2");
        closed("VGPU_MEMORY_2=1g", "VGPU_MEMORY_2");
        closed("CUDA_CORE_LIMIT_7=20", "CUDA_CORE_LIMIT_7");
        closed("CUDA_CORE_SOFT_LIMIT_3=20", "CUDA_CORE_SOFT_LIMIT_3");
        closed("CUDA_DEVICE_SM_LIMIT_2=20", "CUDA_DEVICE_SM_LIMIT_2");
        closed("CUDA_MEM_LIMIT=1g|CUDA_MEM_RATIO_2=2", "CUDA_MEM_RATIO_2");
        closed("CUDA_MEM_OVERSOLD_9=true", "CUDA_MEM_OVERSOLD_9");
        closed("CUDA_MEM_LIMIT_64=1g", "CUDA_MEM_LIMIT_64");
        closed("CUDA_MEM_LIMIT_01=1g", "did you mean 'CUDA_MEM_LIMIT_1'?");
}

SIM_TEST(a_list_that_names_fewer_gpus_than_limits_gives_none)
{
        char variables[256];

        guest_machine(2);
        snprintf(variables, sizeof variables, "VGPU_DEVICES=%s|VGPU_MEMORY_LIMIT_3=1g",
                 machine_gpu(sim_machine_open(), 0)->uuid);
        closed(variables, "VGPU_DEVICES has no GPU 3");
        /* Twice the same: the second limit would hold nobody. */
        snprintf(variables, sizeof variables, "VGPU_DEVICES=%s,%s|VGPU_MEMORY_LIMIT_1=1g",
                 machine_gpu(sim_machine_open(), 0)->uuid,
                 machine_gpu(sim_machine_open(), 0)->uuid);
        closed(variables, "VGPU_MEMORY_LIMIT_1");
}

/* The row behind the list is the one that GPU 0 gets: its limit is not the one that was meant. */
SIM_TEST(a_number_behind_a_list_is_no_gpu_that_the_list_leaves_out)
{
        static const char *const lists[] = { "VGPU_DEVICES", "GPU_DEVICES_UUID",
                                             "MANAGER_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                                             "MANAGER_VISIBLE_DEVICE_0" };
        char variables[256];

        guest_machine(2);
        for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++)
                for (unsigned gpu = 0; gpu < 2; gpu++) {
                        snprintf(variables, sizeof variables, "%s=%s|CUDA_MEM_LIMIT_1=1g", lists[i],
                                 machine_gpu(sim_machine_open(), gpu)->uuid);
                        closed(variables, "has no GPU 1");
                }
        closed("VGPU_DEVICES=" ABSENT "|CUDA_MEM_LIMIT_1=1g", "VGPU_DEVICES has no GPU 1");
        closed("VGPU_DEVICES=" ABSENT "," ABSENT "|CUDA_CORE_LIMIT_2=30",
               "VGPU_DEVICES has no GPU 2");
}

SIM_TEST(a_list_of_numbers_beside_a_limit_with_a_number_gives_none)
{
        guest_machine(2);
        closed("VGPU_DEVICES=1|VGPU_MEMORY_LIMIT_0=1g", "VGPU_DEVICES is '1'");
        closed("GPU_DEVICES_UUID=1,0|VGPU_CORES_1=30", "GPU_DEVICES_UUID is '1,0'");
        open_silently("NVIDIA_VISIBLE_DEVICES=1|VGPU_MEMORY_LIMIT_0=100m");
        open_silently("NVIDIA_VISIBLE_DEVICES=nvidia.com/gpu=1|VGPU_MEMORY_LIMIT_0=100m");
        open_silently("VGPU_DEVICES=all|VGPU_MEMORY_LIMIT_0=100m");
        open_silently("VGPU_DEVICES=|VGPU_MEMORY_LIMIT_0=100m");
}

SIM_TEST(a_list_of_anything_else_beside_a_limit_with_a_number_gives_none)
{
        static const char *const lists[] = { "1:0", "gpu1", "all,1", "ALL", "[\"1\"]", "1\n", "0x1",
                                             "-1",  ",1",   "1;0",   "1 0", "GPU-x,1", " " };
        static const char *const names[] = { "VGPU_DEVICES", "NVIDIA_VISIBLE_DEVICES" };
        char variables[256];

        guest_machine(2);
        for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++)
                for (unsigned name = 0; name < 2; name++) {
                        snprintf(variables, sizeof variables, "%s=%s|VGPU_MEMORY_LIMIT_0=1g",
                                 names[name], lists[i]);
                        closed(variables, names[name]);
                        /* Without a number the limit holds every GPU, whatever the list says. */
                        snprintf(variables, sizeof variables, "%s=%s|VGPU_MEMORY_LIMIT=100m",
                                 names[name], lists[i]);
                        open_silently(variables);
                }
        closed("NVIDIA_VISIBLE_DEVICES=0:1|CUDA_MEM_LIMIT_0=1g", "NVIDIA_VISIBLE_DEVICES is '0:1'");
        open_silently("NVIDIA_VISIBLE_DEVICES=0:1");
        closed("MANAGER_VISIBLE_DEVICE_0=1|VGPU_MEMORY_LIMIT_0=1g",
               "MANAGER_VISIBLE_DEVICE_0 is '1': it takes one UUID");
        closed("VGPU_DEVICES_0=1|VGPU_MEMORY_LIMIT_0=1g", "VGPU_DEVICES_0 is '1'");
        open_silently("MANAGER_VISIBLE_DEVICE_0=1");
}

/* An empty name is as if unset, and "all" says nothing of the order. */
SIM_TEST(a_list_counts_behind_an_empty_one_and_not_beside_all)
{
        guest_machine(2);
        closed("VGPU_DEVICES=|GPU_DEVICES_UUID=" ABSENT "|VGPU_MEMORY_LIMIT_0=1g",
               "of GPU_DEVICES_UUID, which is not here");
        closed("VGPU_DEVICES_0=|MANAGER_VISIBLE_DEVICE_0=" ABSENT "|VGPU_MEMORY_LIMIT_0=1g",
               "of MANAGER_VISIBLE_DEVICE_0, which is not here");
        closed("VGPU_DEVICES=all|GPU_DEVICES_UUID=" ABSENT "|VGPU_MEMORY_LIMIT_0=1g",
               "VGPU_DEVICES is 'all', and GPU_DEVICES_UUID lists UUIDs: unset one of them");
        open_silently("VGPU_DEVICES=all|GPU_DEVICES_UUID=" ABSENT "|VGPU_MEMORY_LIMIT=100m");
        closed("GPU_DEVICES_UUID=" ABSENT "|NVIDIA_VISIBLE_DEVICES=all|VGPU_MEMORY_LIMIT_0=1g",
               "of GPU_DEVICES_UUID, which is not here");
}

SIM_TEST(what_limits_nothing_or_a_hidden_gpu_is_fine)
{
        char variables[256];

        guest_machine(2);
        open_silently("CUDA_VISIBLE_DEVICES=0|CUDA_MEM_LIMIT_1=1g");
        open_silently("CUDA_MEM_LIMIT=100m|CUDA_MEM_LIMIT_5=0|CUDA_CORE_LIMIT_5=0");
        open_silently("VGPU_MEMORY_LIMIT=100m|VGPU_MEMORY_OVERSOLD_5=false|CUDA_MEM_RATIO_6=1");
        open_silently("VGPU_DEVICES=" ABSENT);
        /* Without a number it holds every GPU here, whatever the list says. */
        open_silently("VGPU_DEVICES=" ABSENT "|VGPU_MEMORY_LIMIT=100m");
        snprintf(variables, sizeof variables, "VGPU_DEVICES= %s , %s|VGPU_MEMORY_LIMIT_1=100m",
                 machine_gpu(sim_machine_open(), 1)->uuid,
                 machine_gpu(sim_machine_open(), 0)->uuid);
        open_silently(variables);
}

SIM_TEST(misspelt_limits_give_none)
{
        guest_machine(1);
        closed("VGPU_CORE=30", "'VGPU_CORE' (did you mean 'VGPU_CORES'?)");
        closed("VGPU_MEMORY_LIMTI_0=1g", "did you mean 'VGPU_MEMORY_LIMIT_0'?");
        closed("CUDA_MEM_LIMT=1g", "did you mean 'CUDA_MEM_LIMIT'?");
        closed("GVPU_MEMORY_LIMIT=1g", "did you mean 'VGPU_MEMORY_LIMIT'?");
        closed("_VGPU_MEMORY_LIMIT=1g", "did you mean 'VGPU_MEMORY_LIMIT'?");
        closed("CUDA_MEMORY=1g", "did you mean 'CUDA_MEM_LIMIT'?");
        closed("VGPU_VRAM_0=1g", "did you mean 'VGPU_MEMORY_LIMIT_0'?");
        closed("vgpu_memory_limit=1g", "did you mean 'VGPU_MEMORY_LIMIT'?");
        closed("VGPU_MEMORY_LIMIT =1g", "'VGPU_MEMORY_LIMIT ' (did you mean 'VGPU_MEMORY_LIMIT'?)");
        closed("VGPU_MEMORY_LIMIT=", "VGPU_MEMORY_LIMIT is set and has no value");
        closed("VGPU_MEMORY_LIMIT=0.0001k", "'0.0001k' is less than one byte");
        closed("CUDA_CORE_LIMIT_0=", "CUDA_CORE_LIMIT_0 is set and has no value");
}

SIM_TEST(names_of_others_are_theirs)
{
        guest_machine(1);
        open_silently("VGPU_MEMORY_SERVICE_HOST=10.0.0.1|VGPU_MEMORY_PORT=tcp://10.0.0.1:443|"
                      "VGPU_MEMORY_PORT_443_TCP_ADDR=10.0.0.1|VGPU_PORT=tcp://10.0.0.1:443|"
                      "VGPU_CORES_SERVICE_PORT_HTTPS=443");
        open_silently("CUDA_DEVICE_ORDER=PCI_BUS_ID|CUDA_DEVICE_MAX_CONNECTIONS=1|"
                      "CUDA_DEVICE_WAITS_ON_EXCEPTION=0|CUDA_MODULE_LOADING=LAZY|CUDA_MEMCHECK=1|"
                      "CUDA_CACHE_MAXSIZE=1|CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G|"
                      "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT=10");
        open_silently("GPU_CORES=1|GPU_MEMORY=2|CPU_MEMORY_LIMIT=3|NVIDIA_VISIBLE_DEVICE=all");
        CHECK_EQ(attempt("VGPU_COLOUR=blue|VGPU_SHAPE=round", ask_now), ALL_OPEN);
        CHECK_EQ(lines(), 1);
        CHECK(strstr(said, "warn") && strstr(said, "VGPU_COLOUR") && strstr(said, "and 1 more"));
        CHECK_EQ(attempt("GPU_MEMORY_LIMIT=4096", ask_now), ALL_OPEN);
        CHECK(strstr(said, "'GPU_MEMORY_LIMIT' (did you mean 'VGPU_MEMORY_LIMIT'?)"));
}

static int held_to_100(void)
{
        CUdeviceptr address;

        guest_start(NULL);
        return cuMemAlloc_v2(&address, 102 * MIB) == CUDA_ERROR_OUT_OF_MEMORY &&
                               cuMemAlloc_v2(&address, 100 * MIB) == CUDA_SUCCESS
                       ? 0
                       : 1;
}

SIM_TEST(the_short_name_is_a_limit_too)
{
        guest_machine(1);
        CHECK_EQ(attempt("VGPU_MEMORY=100m", held_to_100), 0);
        CHECK_EQ(attempt("VGPU_MEMORY_0=100m|VGPU_MEMORY=1g", held_to_100), 0);
        CHECK(strstr(said, "VGPU_MEMORY_0"));
}

SIM_TEST(two_names_of_one_limit_lose_it_to_no_zero)
{
        guest_machine(2);
        closed("VGPU_MEMORY_LIMIT=0|CUDA_MEM_LIMIT=1g",
               "VGPU_MEMORY_LIMIT is 0 (no limit), and CUDA_MEM_LIMIT is '1g': unset one of them");
        closed("VGPU_MEMORY_LIMIT=0|VGPU_MEMORY=1g", "and VGPU_MEMORY is '1g'");
        closed("CUDA_CORE_LIMIT_1=0|CUDA_DEVICE_SM_LIMIT_1=30", "and CUDA_DEVICE_SM_LIMIT_1 is");
        closed("VGPU_MEMORY_LIMIT=100m|CUDA_MEM_LIMIT=lots", "CUDA_MEM_LIMIT: 'lots'");
        CHECK_EQ(attempt("CUDA_MEM_LIMIT=1g|VGPU_MEMORY_LIMIT=100m", held_to_100), 0);
        CHECK(strstr(said, "warn vgpu: VGPU_MEMORY_LIMIT is '100m', and CUDA_MEM_LIMIT is '1g': "
                           "VGPU_MEMORY_LIMIT counts"));
        CHECK_EQ(attempt("CUDA_MEM_LIMIT=0|VGPU_MEMORY_LIMIT=100m", held_to_100), 0);
        /* The same in other words, and a number that beats none. */
        open_silently(
                "VGPU_MEMORY_LIMIT=100m|CUDA_MEM_LIMIT=102400k|VGPU_CORES=0|CUDA_CORE_LIMIT=0");
        open_silently("VGPU_MEMORY_LIMIT=100m|CUDA_MEM_LIMIT_0=0|CUDA_MEM_LIMIT_1=1g");
}

/* A list with a GPU that is cut means its MIG devices. */
SIM_TEST(a_limit_on_a_gpu_holds_its_mig_devices)
{
        struct machine_spec spec;
        char variables[256];
        unsigned instance, compute;

        machine_spec_init(&spec);
        spec.preset = "a100-40gb";
        spec.context_bytes = 0;
        sim_machine_from(&spec);
        struct machine *machine = sim_machine_open();
        CHECK_EQ(mig_set_mode(machine, 0, true), 0);
        CHECK_EQ(mig_create(machine, 0, 19, MIG_ANYWHERE, &instance), 0);
        CHECK_EQ(mig_compute_create(machine, 0, instance, 0, MIG_ANYWHERE, &compute), 0);
        snprintf(variables, sizeof variables,
                 "VGPU_DEVICES=%s|VGPU_MEMORY_LIMIT_0=100m|VGPU_REGION=%s" SIM_REGION,
                 machine_gpu(machine, 0)->uuid, getenv("VGPU_SIM"));
        CHECK_EQ(attempt(variables, held_to_100), 0);
}

static int region_is_used(void)
{
        return held_to_100() == 0 && access(getenv("CUDA_DEVICE_MEMORY_SHARED_CACHE"), F_OK) == 0
                       ? 0
                       : 1;
}

SIM_TEST(the_folder_of_a_region_is_made)
{
        char folder[] = "/tmp/vgpu-test-folder-XXXXXX", variables[256], path[128];

        guest_machine(1);
        unsetenv("VGPU_REGION");
        CHECK(mkdtemp(folder) != NULL);
        snprintf(path, sizeof path, "%s/a/b/d.cache", folder);
        snprintf(variables, sizeof variables,
                 "CUDA_DEVICE_MEMORY_LIMIT_0=100m|CUDA_DEVICE_MEMORY_SHARED_CACHE=%s", path);
        CHECK_EQ(attempt(variables, region_is_used), 0);
        CHECK(!strstr(said, "warn"));
        while (strlen(path) > strlen(folder)) {
                CHECK_EQ(remove(path), 0);
                *strrchr(path, '/') = '\0';
        }
        CHECK_EQ(rmdir(folder), 0);
}

SIM_TEST(a_region_that_cannot_be_made_is_elsewhere_and_holds)
{
        char *region_path;

        guest_machine(1);
        unsetenv("VGPU_REGION");
        CHECK_EQ(attempt("CUDA_DEVICE_MEMORY_LIMIT_0=100m|"
                         "CUDA_DEVICE_MEMORY_SHARED_CACHE=/proc/nowhere/d.cache",
                         held_to_100),
                 0);
        CHECK(strstr(said, "CUDA_DEVICE_MEMORY_SHARED_CACHE: cannot open '/proc/nowhere/d.cache'"));
        region_path = strstr(said, "/tmp/vgpu-region-");
        CHECK(region_path != NULL);
        region_path[strcspn(region_path, "'")] = '\0';
        CHECK_EQ(unlink(region_path), 0);
}

SIM_TEST(a_limit_beyond_the_gpu_is_warned_of)
{
        guest_machine(1);
        CHECK_EQ(attempt("CUDA_MEM_LIMIT_0=1t", ask_now), ALL_OPEN);
        CHECK(strstr(said, "warn vgpu: CUDA_MEM_LIMIT_0: 1TiB is more than GPU 0 has, 1GiB"));
        CHECK_EQ(lines(), 1);
        open_silently("CUDA_MEM_LIMIT_0=1g");
        open_silently("CUDA_MEM_LIMIT_0=2g|CUDA_MEM_RATIO_0=2");
}

int main(void)
{
        return RUN(
                CASE(a_limit_on_a_gpu_that_is_not_here_gives_none),
                CASE(a_limit_with_a_number_that_no_gpu_has_gives_none),
                CASE(a_list_that_names_fewer_gpus_than_limits_gives_none),
                CASE(a_number_behind_a_list_is_no_gpu_that_the_list_leaves_out),
                CASE(a_list_of_numbers_beside_a_limit_with_a_number_gives_none),
                CASE(a_list_of_anything_else_beside_a_limit_with_a_number_gives_none),
                CASE(a_list_counts_behind_an_empty_one_and_not_beside_all),
                CASE(what_limits_nothing_or_a_hidden_gpu_is_fine), CASE(misspelt_limits_give_none),
                CASE(names_of_others_are_theirs), CASE(the_short_name_is_a_limit_too),
                CASE(two_names_of_one_limit_lose_it_to_no_zero),
                CASE(a_limit_on_a_gpu_holds_its_mig_devices), CASE(the_folder_of_a_region_is_made),
                CASE(a_region_that_cannot_be_made_is_elsewhere_and_holds),
                CASE(a_limit_beyond_the_gpu_is_warned_of));
}
