/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of gpu_health: unhealthy at once, healthy again after a while of quiet. */
#include "gpu_health.h"

#include "unit.h"

TEST(a_gpu_is_healthy_until_it_has_trouble_and_again_after_a_while)
{
        struct gpu_health health = { 0 };

        CHECK(gpu_health_is_good(&health, 60, 0));
        gpu_health_trouble(&health, 100);
        CHECK(!gpu_health_is_good(&health, 60, 100));
        CHECK(!gpu_health_is_good(&health, 60, 159));
        CHECK(gpu_health_is_good(&health, 60, 160));
}

TEST(every_new_trouble_begins_the_while_anew)
{
        struct gpu_health health = { 0 };

        gpu_health_trouble(&health, 0);
        gpu_health_trouble(&health, 50);
        CHECK(!gpu_health_is_good(&health, 60, 109));
        CHECK(gpu_health_is_good(&health, 60, 110));
}

TEST(what_a_program_did_is_not_the_gpus_fault)
{
        CHECK(gpu_health_xid_is_programs(31));
        CHECK(!gpu_health_xid_is_programs(48));
        CHECK(!gpu_health_xid_is_programs(79));
        CHECK(!gpu_health_xid_is_programs(0));
}

int main(void)
{
        return RUN(CASE(a_gpu_is_healthy_until_it_has_trouble_and_again_after_a_while),
                   CASE(every_new_trouble_begins_the_while_anew),
                   CASE(what_a_program_did_is_not_the_gpus_fault));
}
