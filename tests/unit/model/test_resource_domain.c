/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of names under an operator's own domain. In a program of their own: a domain is for good. */
#include <errno.h>

#include "resource.h"
#include "unit.h"

TEST(names_move_to_the_domain_and_nowhere_else)
{
        struct resource resource;
        struct err e;

        CHECK(resource_find("nvidia.com/vgpu", false, &resource));
        CHECK_EQ(resource_use_domain("gpu.example.com", &e), 0);
        CHECK(!resource_find("nvidia.com/vgpu", false, &resource));
        CHECK(!resource_find("nvidia.com/mig-1g.5gb", false, &resource));
        CHECK(resource_find("gpu.example.com/vgpu", false, &resource));
        CHECK_EQ(resource.kind, RESOURCE_COUNT);
        CHECK(resource_find("gpu.example.com/mig-1g.5gb", false, &resource));
        CHECK_EQ(resource.kind, RESOURCE_MIG);
        CHECK(resource_find("volcano.sh/vgpu-number", false, &resource));
        CHECK(resource_find("mig.das.com/1g.5gb", false, &resource));
        CHECK_STR(resource_name(RESOURCE_PLAIN, RESOURCE_MEMORY), "gpu.example.com/gpumem");
        CHECK_STR(resource_mig_prefix(), "gpu.example.com/mig-");
}

TEST(what_is_no_domain_is_refused)
{
        static const char *const rows[] = { "", "a/b", "-a", "a-", "A.com", "a..b", "a b", ".a" };
        struct err e;

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                CHECK_EQ(resource_use_domain(rows[i], &e), -EINVAL);
}

int main(void)
{
        return RUN(CASE(what_is_no_domain_is_refused),
                   CASE(names_move_to_the_domain_and_nowhere_else));
}
