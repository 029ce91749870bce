/* SPDX-License-Identifier: Apache-2.0 */
/* How init containers, sidecars and applications add up. */
#include "pod_peak.h"

#include <stdbool.h>
#include <stdlib.h>

#include "unit.h"

struct container {
        enum pod_phase phase;
        uint64_t figure;
};

static uint64_t peak_of(const struct container *containers, size_t count)
{
        struct pod_peak peak = { 0 };

        for (size_t i = 0; i < count; i++)
                pod_peak_add(&peak, containers[i].phase, containers[i].figure);
        return pod_peak_of(&peak);
}
#define PEAK_OF(...)                                       \
        peak_of((const struct container[]){ __VA_ARGS__ }, \
                sizeof((const struct container[]){ __VA_ARGS__ }) / sizeof(struct container))

TEST(applications_and_sidecars_add_up)
{
        CHECK_EQ(peak_of(NULL, 0), 0);
        CHECK_EQ(PEAK_OF({ POD_APP, 3 }, { POD_APP, 4 }), 7);
        CHECK_EQ(PEAK_OF({ POD_SIDECAR, 2 }, { POD_APP, 3 }, { POD_APP, 4 }), 9);
}

TEST(init_containers_follow_each_other)
{
        CHECK_EQ(PEAK_OF({ POD_INIT, 5 }, { POD_INIT, 8 }, { POD_INIT, 1 }, { POD_APP, 3 }), 8);
        CHECK_EQ(PEAK_OF({ POD_INIT, 5 }, { POD_INIT, 2 }, { POD_APP, 6 }), 6);
}

TEST(an_init_container_runs_beside_the_sidecars_before_it_alone)
{
        CHECK_EQ(PEAK_OF({ POD_SIDECAR, 4 }, { POD_INIT, 8 }, { POD_APP, 1 }), 12);
        CHECK_EQ(PEAK_OF({ POD_INIT, 8 }, { POD_SIDECAR, 4 }, { POD_APP, 1 }), 8);
        CHECK_EQ(PEAK_OF({ POD_SIDECAR, 1 }, { POD_INIT, 8 }, { POD_SIDECAR, 2 }, { POD_INIT, 7 }),
                 10);
}

/* kubelet's order, moment by moment: each init container has its moment, then the applications begin. */
static uint64_t simulated_peak(const struct container *containers, size_t count)
{
        uint64_t highest = 0;

        for (size_t moment = 0; moment <= count; moment++) {
                uint64_t running = 0;

                for (size_t i = 0; i < count; i++) {
                        const bool has_begun = i <= moment || moment == count;

                        if (containers[i].phase == POD_APP       ? moment == count
                            : containers[i].phase == POD_SIDECAR ? has_begun
                                                                 : i == moment)
                                running += containers[i].figure;
                }
                highest = running > highest ? running : highest;
        }
        return highest;
}

TEST(the_peak_is_that_of_the_pods_life)
{
        srandom(7);
        for (unsigned round = 0; round < 20000; round++) {
                struct container containers[8];
                const size_t count = (size_t)(random() % 9), begin = (size_t)(random() % 9);

                for (size_t i = 0; i < count; i++) {
                        containers[i].figure = (uint64_t)(random() % 10);
                        containers[i].phase = i >= begin     ? POD_APP
                                              : random() % 2 ? POD_SIDECAR
                                                             : POD_INIT;
                }
                CHECK_EQ(peak_of(containers, count), simulated_peak(containers, count));
        }
}

TEST(the_values_in_shares_stay)
{
        CHECK_EQ(POD_APP, 0);
        CHECK_EQ(POD_SIDECAR, 1);
        CHECK_EQ(POD_INIT, 2);
}

int main(void)
{
        return RUN(CASE(applications_and_sidecars_add_up), CASE(init_containers_follow_each_other),
                   CASE(an_init_container_runs_beside_the_sidecars_before_it_alone),
                   CASE(the_peak_is_that_of_the_pods_life), CASE(the_values_in_shares_stay));
}
