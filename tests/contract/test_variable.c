/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of names in an environment: a limit under a name that nobody reads is refused, and whatever is
 * somebody else's is left alone. */
#include "variable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "setting.h"
#include "unit.h"

static void misspelt(const char *variable, const char *meant)
{
        char found[VARIABLE_NAME];
        const enum variable_kind kind = variable_judge(variable, found);

        if (kind != VARIABLE_MISSPELT || strcmp(found, meant) != 0)
                fail_msg("%s is %d, meant '%s'", variable, (int)kind, found);
}

static void is(const char *variable, enum variable_kind kind)
{
        char found[VARIABLE_NAME];

        if (variable_judge(variable, found) != kind)
                fail_msg("%s is %d (%s)", variable, (int)variable_judge(variable, found), found);
}

TEST(names_near_a_limit_are_misspelt)
{
        misspelt("VGPU_MEM=2g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_MEMORY_LIMITS=2g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_MEMROY_LIMIT=2g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_MEMORYLIMIT_3=2g", "VGPU_MEMORY_LIMIT_3");
        misspelt("VGPU_CORE=30", "VGPU_CORES");
        misspelt("VGPU_CORE_LIMIT=30", "VGPU_CORES");
        misspelt("VGPU_CORES_MIN=30", "VGPU_CORES_MAX");
        misspelt("VGPU_DEVICE=GPU-1", "VGPU_DEVICES");
        misspelt("VGPU_DEVS=GPU-1", "VGPU_DEVICES");
        misspelt("VPGU_MEMORY_LIMIT=2g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_PRIORTY=0", "VGPU_PRIORITY");
        misspelt("CUDA_MEM_LIMT_0=1g", "CUDA_MEM_LIMIT_0");
        misspelt("CUDA_MEM_MAX=1g", "CUDA_MEM_LIMIT");
        misspelt("VGPU_MEM_RATIO=2", "VGPU_MEMORY_RATIO");
        misspelt("CUDA_CORES_LIMIT=30", "CUDA_CORE_LIMIT");
        misspelt("CUDA_CORE_LIMIT0=30", "CUDA_CORE_LIMIT_0");
        misspelt("CUDA_DEVICE_MEMORY_LIMIT_O=1g", "CUDA_DEVICE_MEMORY_LIMIT");
        misspelt("CUDA_DEVICE_MEM_LIMIT_0=1g", "CUDA_DEVICE_MEMORY_LIMIT_0");
        misspelt("CUDA_DEVICE_CORE_LIMIT=1", "CUDA_DEVICE_SM_LIMIT");
        misspelt("CUDA_MEMORY_LIMIT=1g", "CUDA_MEM_LIMIT");
        misspelt("GPU_DEVICE_UUID=GPU-1", "GPU_DEVICES_UUID");
        misspelt("MANAGER_VISIBLE_DEVICESS=GPU-1", "MANAGER_VISIBLE_DEVICES");
}

TEST(letters_blanks_and_numbers_count)
{
        misspelt("vgpu_cores=30", "VGPU_CORES");
        misspelt("Vgpu_Memory_Limit_1=2g", "VGPU_MEMORY_LIMIT_1");
        misspelt("cuda_mem_limit=1g", "CUDA_MEM_LIMIT");
        misspelt("VGPU_MEMORY_LIMIT =1g", "VGPU_MEMORY_LIMIT");
        misspelt(" VGPU_MEMORY_LIMIT=1g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU-MEMORY-LIMIT=1g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_MEMORY_LIMIT_01=1g", "VGPU_MEMORY_LIMIT_1");
        misspelt("VGPU_MEMORY_LIMIT_=1g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_MEMORY_LIMIT_-1=1g", "VGPU_MEMORY_LIMIT_1");
}

/* One letter in another case, or behind a number, does not make it somebody else's. */
TEST(a_beginning_that_only_a_limit_has_is_enough)
{
        misspelt("VGPU_MEMORY_LIMIT_0x=1g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_MEMORY_LIMIT_gpu0=1g", "VGPU_MEMORY_LIMIT_0");
        misspelt("VGPU_MEMORY_limit_mb=1g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_CORE_limit=30", "VGPU_CORES");
        misspelt("VGPU_MEM-LIMIT=1g", "VGPU_MEMORY_LIMIT");
        misspelt("vgpu_mem=2g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_GPU_MEMORY=2g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_GPU_CORES=30", "VGPU_CORES");
        misspelt("CUDA_MEM_limit_mb=1g", "CUDA_MEM_LIMIT");
        is("cuda_mem_fraction=0.5", VARIABLE_FOREIGN);
        is("cuda_core_count=7", VARIABLE_FOREIGN);
}

/* The longer the name, the surer the slip; and two slips make it somebody else's. */
TEST(a_slip_in_the_first_letter_of_a_long_name_counts)
{
        misspelt("GVPU_MEMORY_LIMIT=1g", "VGPU_MEMORY_LIMIT");
        misspelt("UGPU_MEMORY_LIMIT=1g", "VGPU_MEMORY_LIMIT");
        misspelt("UGPU_MEMORY_LIMIT_1=1g", "VGPU_MEMORY_LIMIT_1");
        misspelt("_VGPU_MEMORY_LIMIT=1g", "VGPU_MEMORY_LIMIT");
        misspelt("XCUDA_MEM_LIMIT=1g", "CUDA_MEM_LIMIT");
        misspelt("UDA_MEM_LIMIT=1g", "CUDA_MEM_LIMIT");
        misspelt("WANAGER_VISIBLE_DEVICES=GPU-1", "MANAGER_VISIBLE_DEVICES");
        misspelt("ANAGER_VISIBLE_DEVICES=GPU-1", "MANAGER_VISIBLE_DEVICES");
        /* Applications have that one: it may be theirs. */
        is("GPU_MEMORY_LIMIT=1g", VARIABLE_UNKNOWN);
        is("GPU_MEMORY_LIMIT_0=1g", VARIABLE_UNKNOWN);
        is("GPU_MEMORY_LIMIT_MB=1024", VARIABLE_FOREIGN);
        misspelt("GPU_DEVICES_UIUD=GPU-1", "GPU_DEVICES_UUID");
        misspelt("ugpu_memory_limit=1g", "VGPU_MEMORY_LIMIT");
        is("CPU_MEMORY_LIMIT=1g", VARIABLE_FOREIGN);
        is("MEM_LIMIT=1g", VARIABLE_FOREIGN);
        is("MEMORY_LIMIT=1g", VARIABLE_FOREIGN);
        is("TF_GPU_MEMORY_LIMIT=1g", VARIABLE_FOREIGN);
        is("GPU_CORES_0=30", VARIABLE_FOREIGN);
        is("UGPU_CORES=30", VARIABLE_FOREIGN);
        is("NVIDIA_VISIBLE_DEVICE=all", VARIABLE_FOREIGN);
        is("ROCR_VISIBLE_DEVICES=0", VARIABLE_FOREIGN);
        is("HIP_VISIBLE_DEVICES=0", VARIABLE_FOREIGN);
        is("ONEAPI_DEVICE_SELECTOR=x", VARIABLE_FOREIGN);
        is("GPU_MEMORY_LIMIT_SERVICE_HOST=10.0.0.1", VARIABLE_FOREIGN);
}

TEST(other_words_for_memory_and_compute_are_misspelt)
{
        misspelt("CUDA_MEM=1g", "CUDA_MEM_LIMIT");
        misspelt("CUDA_MEMORY=1g", "CUDA_MEM_LIMIT");
        misspelt("CUDA_MEMORY_1=1g", "CUDA_MEM_LIMIT_1");
        misspelt("CUDA_CORE=30", "CUDA_CORE_LIMIT");
        misspelt("CUDA_CORES_0=30", "CUDA_CORE_LIMIT_0");
        misspelt("VGPU_VRAM=1g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_RAM_0=1g", "VGPU_MEMORY_LIMIT_0");
        misspelt("VGPU_GPU_MEM=1g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_GPUMEM_0=1g", "VGPU_MEMORY_LIMIT_0");
        misspelt("VGPU_FB_MEM=1g", "VGPU_MEMORY_LIMIT");
        misspelt("VGPU_COMPUTE=30", "VGPU_CORES");
        misspelt("VGPU_RATIO=2", "VGPU_MEMORY_RATIO");
        misspelt("VGPU_OVERSOLD_1=true", "VGPU_MEMORY_OVERSOLD_1");
        is("VGPU_COMPAT=200", VARIABLE_READ);
        is("cuda_cores=3584", VARIABLE_FOREIGN);
        is("cuda_memory=1", VARIABLE_FOREIGN);
        is("CUDA_MEMORY_TYPE=x", VARIABLE_FOREIGN);
}

TEST(the_name_that_is_offered_is_of_the_same_kind)
{
        misspelt("CUDA_SM_LIMIT=30", "CUDA_DEVICE_SM_LIMIT");
        misspelt("VGPU_SM_LIMIT=30", "VGPU_CORES");
        misspelt("CUDA_DEVICE_LIMIT=2g", "CUDA_DEVICE_MEMORY_LIMIT");
        misspelt("CUDA_DEVICE_SN_LIMIT=30", "CUDA_DEVICE_SM_LIMIT");
}

TEST(every_name_of_a_setting_is_read)
{
        char name[VARIABLE_NAME + 8];

        for (enum setting i = 0; i <= SETTING_DEVICES; i++)
                for (unsigned j = 0; setting_alias(i, j); j++) {
                        is(setting_alias(i, j), VARIABLE_READ);
                        snprintf(name, sizeof name, "%s_12=x", setting_alias(i, j));
                        is(name, VARIABLE_READ);
                }
        is("VGPU_MEMORY=2g", VARIABLE_READ);
        is("VGPU_MEMORY_0=2g", VARIABLE_READ);
        is("CUDA_DEVICE_MEMORY_SHARED_CACHE=/tmp/x", VARIABLE_READ);
        is("VGPU_SIM=/dev/shm/lab", VARIABLE_READ);
        is("VGPU_LIB", VARIABLE_READ);
}

TEST(what_kubernetes_makes_for_services_is_not_judged)
{
        static const char *const services[] = {
                "VGPU_MEMORY_SERVICE_HOST=1",
                "VGPU_MEMORY_SERVICE_PORT=1",
                "VGPU_MEMORY_SERVICE_PORT_HTTPS=1",
                "VGPU_MEMORY_PORT=1",
                "VGPU_MEMORY_PORT_443_TCP=1",
                "VGPU_MEMORY_PORT_443_TCP_PROTO=1",
                "VGPU_MEMORY_LIMIT_PORT_443_TCP_ADDR=1",
                "VGPU_PORT=1",
                "VGPU_SERVICE_HOST=1",
                "VGPU_WEBHOOK_PORT_443_UDP_PORT=1",
                "CUDA_MEM_SERVICE_HOST=1",
                "CUDA_CORE_PORT_80_TCP=1",
        };

        for (size_t i = 0; i < sizeof services / sizeof *services; i++)
                is(services[i], VARIABLE_FOREIGN);
        misspelt("VGPU_MEMORY_PORTION=1g", "VGPU_MEMORY_LIMIT");
}

/* CUDA's programming guide, its debugger's and MPS's manuals, and what images and frameworks set. */
/* NVIDIA's, engines', and everybody's. */
static const char *const others[] = {
        "CUDA_VISIBLE_DEVICES",
        "CUDA_MANAGED_FORCE_DEVICE_ALLOC",
        "CUDA_DEVICE_ORDER",
        "CUDA_CACHE_DISABLE",
        "CUDA_CACHE_PATH",
        "CUDA_CACHE_MAXSIZE",
        "CUDA_FORCE_PTX_JIT",
        "CUDA_DISABLE_PTX_JIT",
        "CUDA_FORCE_JIT",
        "CUDA_DISABLE_JIT",
        "CUDA_LAUNCH_BLOCKING",
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
        "CUDA_AUTO_BOOST",
        "CUDA_SCALE_LAUNCH_QUEUES",
        "CUDA_GRAPHS_USE_NODE_PRIORITY",
        "CUDA_DEVICE_WAITS_ON_EXCEPTION",
        "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
        "CUDA_MODULE_LOADING",
        "CUDA_MODULE_DATA_LOADING",
        "CUDA_BINARY_LOADER_THREAD_COUNT",
        "CUDA_LOG_FILE",
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
        "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP",
        "CUDA_COREDUMP_FILE",
        "CUDA_COREDUMP_GENERATION_FLAGS",
        "CUDA_DEBUGGER_SOFTWARE_PREEMPTION",
        "CUDA_INJECTION64_PATH",
        "CUDA_MEMCHECK",
        "CUDA_MEMCHECK_PATCH_MODULE",
        "CUDA_MPS_PIPE_DIRECTORY",
        "CUDA_MPS_LOG_DIRECTORY",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        "CUDA_MPS_CLIENT_PRIORITY",
        "CUDA_VERSION",
        "CUDA_HOME",
        "CUDA_PATH",
        "CUDA_ROOT",
        "CUDA_ARCH_LIST",
        "CUDACXX",
        "CUBLAS_WORKSPACE_CONFIG",
        "NVIDIA_DRIVER_CAPABILITIES",
        "NVIDIA_REQUIRE_CUDA",
        "NVIDIA_VISIBLE_DEVICE",
        "NV_CUDA_LIB_VERSION",
        "GPU_MEMORY",
        "GPU_CORES",
        "GPU_DEVICES",
        "GPU_MAX_ALLOC_PERCENT",
        "VGPU",
        "MANAGER",
        "CUDA",
        "",
        "=",
};

TEST(variables_of_nvidias_are_never_refused)
{
        char meant[VARIABLE_NAME];

        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
                const enum variable_kind kind = variable_judge(others[i], meant);
                if (kind == VARIABLE_MISSPELT || kind == VARIABLE_UNKNOWN)
                        fail_msg("%s is %d (%s)", others[i], (int)kind, meant);
        }
}

TEST(other_names_of_ours_are_unknown)
{
        is("VGPU_COLOUR=blue", VARIABLE_UNKNOWN);
        is("VGPU_SIM_LBI=/x", VARIABLE_UNKNOWN);
        is("VGPU_REGOIN=/x", VARIABLE_UNKNOWN);
        is("VGPU_LOG_0=debug", VARIABLE_UNKNOWN);
        is("vgpu_colour=blue", VARIABLE_FOREIGN);
}

static int walk(const char *const *list, struct variable_names *names, struct err *e)
{
        setting_lend((char *const *)list);
        const int r = variable_walk(names, e);
        setting_lend(NULL);
        return r;
}

TEST(one_walk_finds_numbers_and_strangers)
{
        static const char *const list[] = { "PATH=/bin",
                                            "VGPU_MEMORY_LIMIT_3=1g",
                                            "CUDA_CORE_LIMIT_0=3",
                                            "VGPU_BLUE=1",
                                            "VGPU_RED=2",
                                            "NVIDIA_VISIBLE_DEVICES_9=x",
                                            "HOME_5=1",
                                            NULL };
        static const char *const bad[] = { "VGPU_BLUE=1", "VGPU_CORE_1=3", NULL };
        static const char *const lines[] = { "VGPU_A\nerror forged\033[2J=1", NULL };
        static const char *const far[] = { "VGPU_CORES_64=3", NULL };
        struct variable_names names = { 0 };
        char text[VARIABLE_TEXT];
        struct err e = { 0 };

        CHECK_EQ(walk(list, &names, &e), 0);
        CHECK_EQ(names.numbers, 1 << 3 | 1 << 0 | 1 << 9);
        CHECK_EQ(names.unknown, 2);
        variable_unknown_text(&names, text);
        CHECK(strstr(text, "unknown variable 'VGPU_BLUE'") == text && strstr(text, "and 1 more"));
        CHECK_EQ(walk(lines, &names, &e), 0);
        variable_unknown_text(&names, text);
        CHECK_STR(text, "unknown variable 'VGPU_A?error forged?[2J'");
        CHECK_EQ(walk(bad, &names, &e), -EINVAL);
        CHECK_STR(e.text, "unknown variable 'VGPU_CORE_1' (did you mean 'VGPU_CORES_1'?)");
        CHECK_EQ(walk(far, &names, &e), -EINVAL);
        CHECK_STR(e.text, "VGPU_CORES_64: GPUs are numbered from 0 to 63");
}

int main(void)
{
        return RUN(CASE(names_near_a_limit_are_misspelt), CASE(letters_blanks_and_numbers_count),
                   CASE(a_beginning_that_only_a_limit_has_is_enough),
                   CASE(a_slip_in_the_first_letter_of_a_long_name_counts),
                   CASE(other_words_for_memory_and_compute_are_misspelt),
                   CASE(the_name_that_is_offered_is_of_the_same_kind),
                   CASE(every_name_of_a_setting_is_read),
                   CASE(what_kubernetes_makes_for_services_is_not_judged),
                   CASE(variables_of_nvidias_are_never_refused),
                   CASE(other_names_of_ours_are_unknown),
                   CASE(one_walk_finds_numbers_and_strangers));
}
