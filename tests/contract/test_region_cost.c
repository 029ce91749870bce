/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what processes of a container learn for each other. */
#include "region_cost.h"

#include <stdlib.h>

#include "unit.h"

enum { KEYS = 500 };

static uint64_t key_of(uint64_t number)
{
        return (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

TEST(costs_are_shared_between_processes)
{
        struct region_file *file = calloc(1, sizeof *file);
        unsigned found = 0;

        assert_non_null(file);
        CHECK_EQ(region_cost_get(file, 7), 0);
        for (uint64_t i = 0; i < KEYS; i++)
                region_cost_put(file, key_of(i), 1000 + i);
        for (uint64_t i = 0; i < KEYS; i++)
                found += region_cost_get(file, key_of(i)) == 1000 + i;
        CHECK(found > KEYS - 5);
        CHECK_EQ(region_cost_get(file, 0), 0);
        region_cost_put(file, key_of(1), 90000);
        CHECK_EQ(region_cost_get(file, key_of(1)), 90000);
        free(file);
}

TEST(nonsense_is_bounded)
{
        struct region_file *file = calloc(1, sizeof *file);

        assert_non_null(file);
        for (unsigned i = 0; i < REGION_COSTS; i++) {
                atomic_store(&file->costs[i].key, key_of(1));
                atomic_store(&file->costs[i].ns, UINT64_MAX - i);
        }
        CHECK(region_cost_get(file, key_of(1)) < UINT32_MAX);
        region_cost_put(file, key_of(2), 5);
        CHECK_EQ(region_cost_get(file, key_of(2)), 5);
        free(file);
}

int main(void)
{
        return RUN(CASE(costs_are_shared_between_processes), CASE(nonsense_is_bounded));
}
