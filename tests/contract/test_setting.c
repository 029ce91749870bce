/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of settings: every name is found, the right one wins, and each value means what it says. */
#include "setting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "log.h"
#include "share_layout.h"
#include "unit.h"

static uint64_t number(enum setting setting, const char *name, const char *text)
{
        struct setting_value value = { .number = UINT64_MAX };
        struct err e = { 0 };

        setenv(name, text, 1);
        CHECK_EQ(setting_read(setting, -1, &value, &e), 1);
        unsetenv(name);
        return value.number;
}

static void wrong(enum setting setting, const char *name, const char *text)
{
        struct setting_value value;
        struct err e = { 0 };

        setenv(name, text, 1);
        CHECK_EQ(setting_read(setting, -1, &value, &e), -EINVAL);
        unsetenv(name);
        CHECK(strncmp(e.text, name, strlen(name)) == 0);
        CHECK(strchr(e.text, '\n') == NULL);
}

TEST(every_name_is_found)
{
        static const struct {
                enum setting setting;
                const char *name, *text;
                uint64_t number;
        } rows[] = {
                { SETTING_MEMORY_LIMIT, "VGPU_MEMORY_LIMIT", "1k", 1024 },
                { SETTING_MEMORY_LIMIT, "VGPU_MEMORY", "1k", 1024 },
                { SETTING_MEMORY_LIMIT, "CUDA_MEM_LIMIT", "1K", 1024 },
                { SETTING_MEMORY_LIMIT, "CUDA_DEVICE_MEMORY_LIMIT", "300m", 300 << 20 },
                { SETTING_MEMORY_OVERSOLD, "VGPU_MEMORY_OVERSOLD", "true", 1 },
                { SETTING_MEMORY_OVERSOLD, "CUDA_MEM_OVERSOLD", "0", 0 },
                { SETTING_MEMORY_OVERSOLD, "CUDA_OVERSUBSCRIBE", "True", 1 },
                { SETTING_OVERSOLD_HOST_MEMORY, "VGPU_OVERSOLD_HOST_MEMORY", "1g", 1 << 30 },
                { SETTING_CONTEXT_MEMORY, "VGPU_CONTEXT_MEMORY", "exempt", 1 },
                { SETTING_CORES, "VGPU_CORES", "30%", 30 },
                { SETTING_CORES, "CUDA_CORE_LIMIT", "0", 0 },
                { SETTING_CORES, "CUDA_DEVICE_SM_LIMIT", "10", 10 },
                { SETTING_CORES_MAX, "VGPU_CORES_MAX", "80", 80 },
                { SETTING_CORES_MAX, "CUDA_CORE_SOFT_LIMIT", "100", 100 },
                { SETTING_CORES_POLICY, "VGPU_CORES_POLICY", "balance", SHARE_POLICY_BALANCE },
                { SETTING_CORES_POLICY, "VGPU_CORES_POLICY", "fixed", SHARE_POLICY_FIXED },
                { SETTING_CORES_POLICY, "GPU_CORE_UTILIZATION_POLICY", "default",
                  SHARE_POLICY_BALANCE },
                { SETTING_CORES_POLICY, "GPU_CORE_UTILIZATION_POLICY", "force",
                  SHARE_POLICY_FIXED },
                { SETTING_CORES_POLICY, "GPU_CORE_UTILIZATION_POLICY", "disable",
                  SHARE_POLICY_NONE },
                { SETTING_PRIORITY, "VGPU_PRIORITY", "low", 1 },
                { SETTING_PRIORITY, "CUDA_TASK_PRIORITY", "0", 0 },
                { SETTING_COPIES, "VGPU_COPIES", "count", 1 },
                { SETTING_COPIES, "VGPU_COPIES", "exempt", 0 },
                { SETTING_COMPATIBILITY, "VGPU_COMPAT", "0", COMPATIBILITY_HOST },
                { SETTING_COMPATIBILITY, "ENV_COMPATIBILITY_MODE", "2", COMPATIBILITY_CGROUP_2 },
                { SETTING_COMPATIBILITY, "MANAGER_COMPATIBILITY_MODE", "201", 201 },
        };

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                CHECK_EQ(number(rows[i].setting, rows[i].name, rows[i].text), rows[i].number);
}

TEST(lists_paths_and_identity_are_found)
{
        static const struct {
                enum setting setting;
                int device;
                const char *variable;
        } rows[] = {
                { SETTING_DEVICES, -1, "VGPU_DEVICES" },
                { SETTING_DEVICES, -1, "GPU_DEVICES_UUID" },
                { SETTING_DEVICES, -1, "MANAGER_VISIBLE_DEVICES" },
                { SETTING_DEVICES, 3, "MANAGER_VISIBLE_DEVICE_3" },
                { SETTING_DEVICES, -1, "NVIDIA_VISIBLE_DEVICES" },
                { SETTING_REGION, -1, "VGPU_REGION" },
                { SETTING_REGION, -1, "CUDA_DEVICE_MEMORY_SHARED_CACHE" },
                { SETTING_POD_NAME, -1, "VGPU_POD_NAME" },
                { SETTING_POD_NAMESPACE, -1, "VGPU_POD_NAMESPACE" },
                { SETTING_POD_UID, -1, "VGPU_POD_UID" },
                { SETTING_CONTAINER_NAME, -1, "VGPU_CONTAINER_NAME" },
        };
        char name[64];

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                setenv(rows[i].variable, "x", 1);
                CHECK_STR(setting_get(rows[i].setting, rows[i].device, name), "x");
                CHECK_STR(name, rows[i].variable);
                unsetenv(rows[i].variable);
                CHECK(setting_get(rows[i].setting, rows[i].device, name) == NULL);
        }
}

TEST(a_number_beats_none_and_ours_beats_others)
{
        char name[64];

        setenv("CUDA_DEVICE_MEMORY_LIMIT", "1", 1);
        setenv("CUDA_MEM_LIMIT", "2", 1);
        CHECK_STR(setting_get(SETTING_MEMORY_LIMIT, 1, name), "2");
        setenv("VGPU_MEMORY_LIMIT", "3", 1);
        CHECK_STR(setting_get(SETTING_MEMORY_LIMIT, 1, name), "3");
        setenv("CUDA_DEVICE_MEMORY_LIMIT_1", "4", 1);
        CHECK_STR(setting_get(SETTING_MEMORY_LIMIT, 1, name), "4");
        CHECK_STR(name, "CUDA_DEVICE_MEMORY_LIMIT_1");
        CHECK_STR(setting_get(SETTING_MEMORY_LIMIT, 0, name), "3");
        setenv("VGPU_MEMORY_LIMIT_1", "5", 1);
        CHECK_STR(setting_get(SETTING_MEMORY_LIMIT, 1, name), "5");
}

TEST(a_text_that_is_empty_hides_no_other)
{
        struct setting_value value;
        struct err e = { 0 };
        char name[64];

        setenv("VGPU_DEVICES", "", 1);
        CHECK(setting_get(SETTING_DEVICES, -1, name) == NULL);
        setenv("GPU_DEVICES_UUID", "GPU-1", 1);
        CHECK_STR(setting_get(SETTING_DEVICES, -1, name), "GPU-1");
        CHECK_STR(name, "GPU_DEVICES_UUID");
        setenv("VGPU_REGION", "", 1);
        setenv("CUDA_DEVICE_MEMORY_SHARED_CACHE", "/x", 1);
        CHECK_STR(setting_get(SETTING_REGION, -1, name), "/x");
        setenv("VGPU_LOG", "", 1);
        CHECK_EQ(number(SETTING_LOG, "LOGGER_LEVEL", "0"), 1 << LOG_LEVEL_INFO);
        /* A limit is never as if unset. */
        setenv("VGPU_CORES", "", 1);
        setenv("CUDA_CORE_LIMIT", "30", 1);
        CHECK_EQ(setting_read(SETTING_CORES, -1, &value, &e), -EINVAL);
        unsetenv("VGPU_CORES");
        unsetenv("CUDA_CORE_LIMIT");
        unsetenv("VGPU_LOG");
        unsetenv("VGPU_REGION");
        unsetenv("CUDA_DEVICE_MEMORY_SHARED_CACHE");
        unsetenv("VGPU_DEVICES");
        unsetenv("GPU_DEVICES_UUID");
}

TEST(nonsense_names_the_variable)
{
        wrong(SETTING_MEMORY_RATIO, "CUDA_MEM_RATIO", "0.9");
        wrong(SETTING_MEMORY_OVERSOLD, "CUDA_OVERSUBSCRIBE", "perhaps");
        wrong(SETTING_CORES, "CUDA_DEVICE_SM_LIMIT", "-1");
        wrong(SETTING_CORES_MAX, "VGPU_CORES_MAX", "101");
        wrong(SETTING_CORES_POLICY, "VGPU_CORES_POLICY", "");
        wrong(SETTING_OVERSOLD_HOST_MEMORY, "VGPU_OVERSOLD_HOST_MEMORY", "");
        wrong(SETTING_CORES, "VGPU_CORES", "");
        wrong(SETTING_PRIORITY, "CUDA_TASK_PRIORITY", "2");
        wrong(SETTING_COPIES, "VGPU_COPIES", "1");
        wrong(SETTING_COMPATIBILITY, "VGPU_COMPAT", "4");
        wrong(SETTING_COMPATIBILITY, "ENV_COMPATIBILITY_MODE", "400");
        wrong(SETTING_COMPATIBILITY, "MANAGER_COMPATIBILITY_MODE", "host");
        wrong(SETTING_LOG, "VGPU_LOG", "3");
        wrong(SETTING_LOG, "LOGGER_LEVEL", "6");
        wrong(SETTING_LOG, "LIBCUDA_LOG_LEVEL", "5");
}

/* The numbers of each family, and what they show. */
TEST(log_levels_keep_their_numbers)
{
        enum {
                E = 1 << LOG_LEVEL_ERROR,
                W = 1 << LOG_LEVEL_WARN,
                I = 1 << LOG_LEVEL_INFO,
                D = 1 << LOG_LEVEL_DEBUG,
                T = 1 << LOG_LEVEL_DETAIL
        };

        CHECK_EQ(number(SETTING_LOG, "LOGGER_LEVEL", "0"), I);
        CHECK_EQ(number(SETTING_LOG, "LOGGER_LEVEL", "1"), E | I);
        CHECK_EQ(number(SETTING_LOG, "LOGGER_LEVEL", "2"), E | W | I);
        CHECK_EQ(number(SETTING_LOG, "LOGGER_LEVEL", "3"), E | W | I);
        CHECK_EQ(number(SETTING_LOG, "LOGGER_LEVEL", "4"), E | W | I | D);
        CHECK_EQ(number(SETTING_LOG, "LOGGER_LEVEL", "5"), E | W | I | D | T);
        CHECK_EQ(number(SETTING_LOG, "LIBCUDA_LOG_LEVEL", "0"), E);
        CHECK_EQ(number(SETTING_LOG, "LIBCUDA_LOG_LEVEL", "1"), E | W);
        CHECK_EQ(number(SETTING_LOG, "LIBCUDA_LOG_LEVEL", "2"), E | W);
        CHECK_EQ(number(SETTING_LOG, "LIBCUDA_LOG_LEVEL", "3"), E | W | I);
        CHECK_EQ(number(SETTING_LOG, "LIBCUDA_LOG_LEVEL", "4"), E | W | I | D);
        CHECK_EQ(number(SETTING_LOG, "VGPU_LOG", "error"), E);
        CHECK_EQ(number(SETTING_LOG, "VGPU_LOG", "info"), E | W | I);
        CHECK_EQ(number(SETTING_LOG, "VGPU_LOG", "debug"), E | W | I | D);
        CHECK_EQ(number(SETTING_LOG, "VGPU_LOG", "detail"), E | W | I | D | T);
}

TEST(a_variable_is_recognised_by_any_of_its_names)
{
        CHECK(setting_is_named(SETTING_DEVICES, "NVIDIA_VISIBLE_DEVICES=all"));
        CHECK(setting_is_named(SETTING_DEVICES, "MANAGER_VISIBLE_DEVICE_12=GPU-1"));
        CHECK(setting_is_named(SETTING_DEVICES, "VGPU_DEVICES"));
        CHECK(!setting_is_named(SETTING_DEVICES, "MANAGER_VISIBLE_DEVICE_=GPU-1"));
        CHECK(!setting_is_named(SETTING_DEVICES, "MANAGER_VISIBLE_DEVICE_1x=GPU-1"));
        CHECK(!setting_is_named(SETTING_DEVICES, "MANAGER_VISIBLE_DEVICE_01=GPU-1"));
        CHECK(!setting_is_named(SETTING_REGION, "VGPU_REGION_0=/x"));
        CHECK(!setting_is_named(SETTING_DEVICES, "CUDA_VISIBLE_DEVICES=0"));
        CHECK(!setting_is_named(SETTING_DEVICES, "=NVIDIA_VISIBLE_DEVICES"));
}

/* An annotation and a variable say the same of compute; admission lets no pod pass that its container refuses. */
TEST(an_annotation_takes_the_policies_of_the_variable)
{
        const struct choice_value *at = choice_rows[CHOICE_CORES_POLICY].values;
        uint64_t found = 0;

        for (; at->text; at++) {
                struct setting_value value = { 0 };
                struct err e = { 0 };
                int choice;

                CHECK_EQ(choice_parse(CHOICE_CORES_POLICY, at->text, &choice, &e), 0);
                setenv("VGPU_CORES_POLICY", at->text, 1);
                CHECK_EQ(setting_read(SETTING_CORES_POLICY, -1, &value, &e), 1);
                CHECK(!(found & UINT64_C(1) << value.number));
                found |= UINT64_C(1) << value.number;
        }
        unsetenv("VGPU_CORES_POLICY");
        CHECK_EQ(found, (UINT64_C(1) << SHARE_POLICIES) - 1);
}

int main(void)
{
        return RUN(CASE(every_name_is_found), CASE(lists_paths_and_identity_are_found),
                   CASE(a_number_beats_none_and_ours_beats_others),
                   CASE(a_text_that_is_empty_hides_no_other), CASE(nonsense_names_the_variable),
                   CASE(log_levels_keep_their_numbers),
                   CASE(a_variable_is_recognised_by_any_of_its_names),
                   CASE(an_annotation_takes_the_policies_of_the_variable));
}
