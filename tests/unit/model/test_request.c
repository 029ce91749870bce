/* SPDX-License-Identifier: Apache-2.0 */
/* What a container asks for, by the rules that all families share. */
#include "request.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

struct pair {
        const char *name;
        int64_t amount;
};

static int read_pairs(const struct pair *pairs, struct request *ret_request, struct err *e)
{
        *ret_request = (struct request){ 0 };
        for (; pairs->name; pairs++) {
                struct resource resource;

                CHECK(resource_find(pairs->name, true, &resource));
                const int r = request_add(ret_request, &resource, pairs->amount, e);

                if (r < 0)
                        return r;
        }
        return request_complete(ret_request, e);
}

#define PAIRS(...) ((const struct pair[]){ __VA_ARGS__, { 0 } })

static struct request read_well(const struct pair *pairs)
{
        struct request request;
        struct err e = { 0 };

        CHECK_EQ(read_pairs(pairs, &request, &e), 0);
        return request;
}

static void fails(const struct pair *pairs, const char *sentence)
{
        struct request request;
        struct err e = { 0 };

        CHECK_EQ(read_pairs(pairs, &request, &e), -EINVAL);
        if (!strstr(e.text, sentence))
                CHECK_STR(e.text, sentence);
}

static void sizes_are(const struct request *request, uint64_t count, uint64_t memory_mib,
                      uint64_t memory_percent, uint64_t cores)
{
        CHECK_EQ(request->values[RESOURCE_COUNT], count);
        CHECK_EQ(request->values[RESOURCE_MEMORY], memory_mib);
        CHECK_EQ(request->values[RESOURCE_MEMORY_PERCENT], memory_percent);
        CHECK_EQ(request->values[RESOURCE_CORES], cores);
}

TEST(a_number_alone_is_whole_gpus)
{
        const struct request request = read_well(PAIRS({ "nvidia.com/vgpu-number", 2 }));

        sizes_are(&request, 2, 0, 100, 100);
        CHECK_EQ(request.family, RESOURCE_NUMBERED);
}

TEST(memory_or_cores_alone_are_one_gpu)
{
        struct request request = read_well(PAIRS({ "nvidia.com/gpumem", 200 }));

        sizes_are(&request, 1, 200, 0, 0);
        CHECK_EQ(request.family, RESOURCE_PLAIN);
        request = read_well(PAIRS({ "volcano.sh/vgpu-cores", 30 }));
        sizes_are(&request, 1, 0, 100, 30);
        CHECK_EQ(request.family, RESOURCE_VOLCANO);
        request = read_well(PAIRS({ "nvidia.com/gpumem-percentage", 25 }));
        sizes_are(&request, 1, 0, 25, 0);
}

TEST(cores_of_zero_are_no_limit)
{
        const struct request request =
                read_well(PAIRS({ "nvidia.com/gpucores", 0 }, { "nvidia.com/gpumem", 200 },
                                { "nvidia.com/vgpu", 1 }));

        sizes_are(&request, 1, 200, 0, 0);
}

TEST(aliases_that_agree_are_one)
{
        const struct request request =
                read_well(PAIRS({ "nvidia.com/vgpu", 1 }, { "nvidia.com/gpu", 1 }));

        sizes_are(&request, 1, 0, 100, 100);
}

TEST(profiles_add_up)
{
        const struct request request =
                read_well(PAIRS({ "nvidia.com/mig-1g.5gb", 2 }, { "mig.das.com/1g.5gb", 1 },
                                { "nvidia.com/mig-3g.20gb", 1 }));
        struct err e = { 0 };
        uint64_t gb;

        CHECK_EQ(request.profile_count, 2);
        CHECK_EQ(request_profile_gb(&request, &gb, &e), 0);
        CHECK_EQ(gb, 3 * 5 + 20);
        CHECK_EQ(request.values[RESOURCE_COUNT], 0);
}

TEST(contradictory_requests_are_refused)
{
        fails(PAIRS({ "nvidia.com/vgpu", 1 }, { "volcano.sh/vgpu-number", 2 }),
              "nvidia.com/vgpu says 1 and volcano.sh/vgpu-number says 2");
        fails(PAIRS({ "nvidia.com/gpucores", 101 }), "101 is not between 0 and 100");
        fails(PAIRS({ "nvidia.com/gpumem", 1 }, { "nvidia.com/gpumem-percentage", 1 }),
              "cannot both size the memory");
        fails(PAIRS({ "nvidia.com/vgpu", 0 }, { "nvidia.com/gpumem", 1 }), "nvidia.com/vgpu is 0");
        fails(PAIRS({ "nvidia.com/mig-1g.5gb", 1 }, { "nvidia.com/vgpu", 1 }), "MIG instances and");
        fails(PAIRS({ "nvidia.com/mig-1g.5gb", 2000 }), "mig-1g.5gb: 2000 is not between");
        fails(PAIRS({ "nvidia.com/priority", 2 }), "2 is not between 0 and 1");
}

TEST(names_that_are_not_ours)
{
        struct resource resource;

        CHECK(!resource_find("cpu", true, &resource));
        CHECK(!resource_find("nvidia.com/gpu", false, &resource));
        CHECK(!resource_find("nvidia.com/mig-foo", true, &resource));
        CHECK(!resource_find("amd.com/gpu", true, &resource));
        CHECK_STR(resource_name(RESOURCE_PLAIN, RESOURCE_COUNT), "nvidia.com/vgpu");
        CHECK(!resource_name(RESOURCE_NUMBERED, RESOURCE_PRIORITY));
}

int main(void)
{
        return RUN(CASE(a_number_alone_is_whole_gpus), CASE(memory_or_cores_alone_are_one_gpu),
                   CASE(cores_of_zero_are_no_limit), CASE(aliases_that_agree_are_one),
                   CASE(profiles_add_up), CASE(contradictory_requests_are_refused),
                   CASE(names_that_are_not_ours));
}
