/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of vgpu-node's options: each row sets its own field, by its own kind. */
#include "node_options.h"

#include <errno.h>

#include "unit.h"

static int parse(char *const *argv, struct node_options *ret_options)
{
        int argc = 0;

        while (argv[argc])
                argc++;
        return node_options_parse(argc, (char **)argv, ret_options, NULL);
}

#define PARSE(options, ...) parse((char *[]){ (char *)"vgpu-node", __VA_ARGS__, NULL }, options)

TEST(each_text_lands_in_its_own_field)
{
        struct node_options options;

        CHECK_EQ(PARSE(&options, "--device-plugin-path=1", "--node-name=2", "--kubeconfig=3",
                       "--state-dir=4", "--run-dir=5", "--runtime-state=6",
                       "--pod-resources-socket=7", "--scheduler-name=8",
                       "--scheduler-certificate=9", "--sim-driver=10"),
                 0);
        CHECK_STR(options.plugin_path, "1");
        CHECK_STR(options.node_name, "2");
        CHECK_STR(options.kubeconfig, "3");
        CHECK_STR(options.state_folder, "4");
        CHECK_STR(options.run_folder, "5");
        CHECK_STR(options.runtime_state, "6");
        CHECK_STR(options.pod_resources, "7");
        CHECK_STR(options.scheduler_name, "8");
        CHECK_STR(options.scheduler_folder, "9");
        CHECK_STR(options.sim_driver, "10");
        node_options_done(&options);
}

TEST(numbers_sizes_and_addresses_are_read_in_their_units)
{
        struct node_options options;

        CHECK_EQ(PARSE(&options, "--device-split-count=7", "--device-memory-factor=8",
                       "--device-memory-scaling=1.5", "--device-cores-scaling=2",
                       "--health-recovery=3", "--driver-timeout=4", "--oversold-host-memory=1Gi",
                       "--metrics-listen=127.0.0.1:9394"),
                 0);
        CHECK_EQ(options.split_count, 7);
        CHECK_EQ(options.memory_factor, 8);
        CHECK(options.memory_scaling == 1.5);
        CHECK(options.cores_scaling == 2);
        CHECK_EQ(options.quiet_ms, 3000);
        CHECK_EQ(options.hang_ms, 4000);
        CHECK_EQ(options.oversold_host_bytes, UINT64_C(1) << 30);
        CHECK(options.metrics_address.length > 0);
        CHECK_EQ(options.scheduler.length, 0);
        node_options_done(&options);
}

TEST(choices_and_flags_are_set_by_their_values)
{
        struct node_options options;

        CHECK_EQ(PARSE(&options, "--mig-strategy=single", "--violation-policy=evict",
                       "--env-ceiling=gpu", "--memory-units=no", "--context-memory=exempt",
                       "--standalone"),
                 0);
        CHECK_EQ(options.mig_strategy, MIG_STRATEGY_SINGLE);
        CHECK_EQ(options.violation_policy, VIOLATION_POLICY_EVICT);
        CHECK_EQ(options.env_ceiling, ENV_CEILING_GPU);
        CHECK(!options.offers_memory);
        CHECK(options.is_context_exempt);
        CHECK(options.is_standalone);
        CHECK(!options.uses_volcano);
        CHECK(!options.has_open_modules);
        node_options_done(&options);
}

TEST(what_is_not_said_has_its_default)
{
        struct node_options options;

        CHECK_EQ(PARSE(&options, "--node-name=n"), 0);
        CHECK(!options.kubeconfig);
        CHECK_EQ(options.split_count, 10);
        CHECK_EQ(options.mig_strategy, MIG_STRATEGY_MIXED);
        CHECK_EQ(options.violation_policy, VIOLATION_POLICY_REPORT);
        CHECK_EQ(options.env_ceiling, ENV_CEILING_NONE);
        CHECK(options.offers_memory);
        node_options_done(&options);
}

TEST(card_is_an_alias_of_gpu)
{
        struct node_options options;

        CHECK_EQ(PARSE(&options, "--env-ceiling", "card"), 0);
        CHECK_EQ(options.env_ceiling, ENV_CEILING_GPU);
        node_options_done(&options);
}

TEST(a_value_of_another_kind_is_refused)
{
        struct node_options options;

        CHECK_EQ(PARSE(&options, "--device-split-count=1001"), -ERANGE);
        CHECK_EQ(PARSE(&options, "--health-recovery=86401"), -ERANGE);
        CHECK_EQ(PARSE(&options, "--violation-policy=card"), -EINVAL);
        CHECK_EQ(PARSE(&options, "--memory-units=maybe"), -EINVAL);
        CHECK_EQ(PARSE(&options, "--volcano", "--device-memory-factor=2"), -EINVAL);
}

int main(void)
{
        return RUN(CASE(each_text_lands_in_its_own_field),
                   CASE(numbers_sizes_and_addresses_are_read_in_their_units),
                   CASE(choices_and_flags_are_set_by_their_values),
                   CASE(what_is_not_said_has_its_default), CASE(card_is_an_alias_of_gpu),
                   CASE(a_value_of_another_kind_is_refused));
}
