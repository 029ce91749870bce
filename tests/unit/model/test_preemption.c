/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a pod preempts: never more than the least that a search of everything finds. */
#include "preemption.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

enum { DEVICES_MOST = 4, VICTIMS_MOST = 9 };

/* A node and who is on it. */
struct scene {
        struct placement_device devices[DEVICES_MOST];
        struct placement_node node;
        struct preemption_hold holds[VICTIMS_MOST][2];
        struct preemption_victim victims[VICTIMS_MOST];
        unsigned victim_count;
};

static void scene_init(struct scene *scene, unsigned device_count)
{
        *scene = (struct scene){ .node = { .devices = scene->devices,
                                           .device_count = device_count,
                                           .allowed = ~UINT64_C(0) } };
        for (unsigned i = 0; i < device_count; i++)
                scene->devices[i] = (struct placement_device){
                        .memory_mib = 1000, .cores = 100, .slots = 10, .is_usable = true
                };
}

static struct preemption_victim *victim_add(struct scene *scene, int priority, unsigned device,
                                            uint64_t memory_mib, unsigned cores)
{
        struct preemption_victim *victim = &scene->victims[scene->victim_count];
        struct preemption_hold *hold = scene->holds[scene->victim_count++];

        hold[0] = (struct preemption_hold){ .device = device,
                                            .use = { .memory_mib = memory_mib,
                                                     .cores = cores,
                                                     .slots = 1,
                                                     .exclusive = cores == 100 } };
        *victim =
                (struct preemption_victim){ .priority = priority, .holds = hold, .hold_count = 1 };
        placement_use_add(&scene->devices[device].used, &hold[0].use);
        return victim;
}

static struct placement_pod pod_of(unsigned count, uint64_t memory_mib, unsigned cores)
{
        return (struct placement_pod){
                .needs = { { .count = count, .memory_mib = memory_mib, .cores = cores } },
                .need_count = 1,
        };
}

/* Bit per victim. −1: nothing helps. */
static int chosen(const struct scene *scene, const struct placement_pod *pod)
{
        struct preemption preemption;
        int set = 0;

        if (preemption_find(&scene->node, pod, scene->victims, scene->victim_count, &preemption) <
            0)
                return -1;
        for (unsigned i = 0; i < scene->victim_count; i++)
                set |= preemption.is_chosen[i] << i;
        return set;
}

TEST(one_large_victim_before_two_small_ones)
{
        struct scene scene;
        const struct placement_pod pod = pod_of(1, 800, 0);

        scene_init(&scene, 2);
        victim_add(&scene, 0, 0, 300, 0);
        victim_add(&scene, 0, 0, 300, 0);
        victim_add(&scene, 0, 1, 400, 0);
        victim_add(&scene, 0, 1, 200, 0);
        CHECK_EQ(chosen(&scene, &pod), 1 << 2);
}

TEST(two_lowly_ones_before_one_of_rank)
{
        struct scene scene;
        const struct placement_pod pod = pod_of(1, 800, 0);

        scene_init(&scene, 2);
        victim_add(&scene, 5, 0, 900, 0);
        victim_add(&scene, 1, 1, 450, 0);
        victim_add(&scene, 1, 1, 450, 0);
        CHECK_EQ(chosen(&scene, &pod), 6);
}

TEST(among_equals_the_one_who_began_last_goes)
{
        struct scene scene;
        const struct placement_pod pod = pod_of(1, 300, 0);

        scene_init(&scene, 1);
        victim_add(&scene, 0, 0, 400, 0)->started_s = 100;
        victim_add(&scene, 0, 0, 400, 0)->started_s = 200;
        CHECK_EQ(chosen(&scene, &pod), 2);
}

TEST(no_pod_is_evicted_where_the_pod_fits_or_never_will)
{
        struct scene scene;
        const struct placement_pod small = pod_of(1, 100, 0), large = pod_of(1, 1001, 0);

        scene_init(&scene, 1);
        victim_add(&scene, 0, 0, 900, 0);
        CHECK_EQ(chosen(&scene, &small), 0);
        CHECK_EQ(chosen(&scene, &large), -1);
}

TEST(whole_gpus_are_emptied)
{
        struct scene scene;
        const struct placement_pod pod = pod_of(2, 1000, 100);

        scene_init(&scene, 3);
        victim_add(&scene, 0, 0, 100, 10);
        victim_add(&scene, 0, 1, 100, 10);
        victim_add(&scene, 0, 1, 100, 10);
        victim_add(&scene, 3, 2, 100, 10);
        CHECK_EQ(chosen(&scene, &pod), 7);
}

/* What is slower but surely complete: every set of victims. */
static bool brute_find(const struct scene *scene, const struct placement_pod *pod,
                       struct preemption_cost *ret_cost)
{
        bool has_found = false;

        for (unsigned set = 0; set < 1u << scene->victim_count; set++) {
                struct preemption_cost cost = { .highest = INT32_MIN, .started_s = INT64_MAX };
                struct placement_device devices[DEVICES_MOST];
                struct placement_node node = scene->node;
                struct placement placement;

                memcpy(devices, scene->devices, sizeof devices);
                node.devices = devices;
                for (unsigned i = 0; i < scene->victim_count; i++) {
                        const struct preemption_victim *victim = &scene->victims[i];

                        if (!(set >> i & 1))
                                continue;
                        for (unsigned h = 0; h < victim->hold_count; h++)
                                placement_use_take(&devices[victim->holds[h].device].used,
                                                   &victim->holds[h].use);
                        if (victim->priority > cost.highest)
                                cost.started_s = INT64_MAX;
                        if (victim->priority >= cost.highest) {
                                cost.highest = victim->priority;
                                if (victim->started_s < cost.started_s)
                                        cost.started_s = victim->started_s;
                        }
                        cost.sum += (uint64_t)((int64_t)victim->priority - INT32_MIN + 1);
                        cost.count++;
                }
                if (placement_find(&node, pod, &placement, NULL) < 0 ||
                    (has_found && preemption_cost_compare(ret_cost, &cost) <= 0))
                        continue;
                has_found = true;
                *ret_cost = cost;
        }
        return has_found;
}

static void scene_fill(struct scene *scene)
{
        const unsigned count = 1 + (unsigned)(random() % VICTIMS_MOST);

        scene_init(scene, 1 + (unsigned)(random() % DEVICES_MOST));
        for (unsigned i = 0; i < count; i++) {
                const unsigned device = (unsigned)random() % scene->node.device_count;
                struct preemption_victim *victim = victim_add(
                        scene, (int)(random() % 3), device, (uint64_t)(100 + random() % 5 * 100),
                        random() % 9 ? (unsigned)(random() % 40) : 100);

                victim->started_s = random() % 3;
                if (scene->node.device_count == 1 || random() % 4)
                        continue;
                scene->holds[i][1] = scene->holds[i][0]; /* some have two GPUs */
                scene->holds[i][1].device = (device + 1) % scene->node.device_count;
                victim->hold_count = 2;
                placement_use_add(&scene->devices[scene->holds[i][1].device].used,
                                  &scene->holds[i][1].use);
        }
        if (random() % 4 == 0)
                scene->devices[random() % scene->node.device_count].is_usable = false;
        for (unsigned i = 0; i < scene->node.device_count; i++)
                scene->devices[i].numa = (int16_t)(i % 2);
}

TEST(never_more_than_the_least)
{
        unsigned found = 0;

        srandom(7);
        for (unsigned round = 0; round < 3000; round++) {
                struct scene scene;
                struct preemption preemption;
                struct preemption_cost least;

                scene_fill(&scene);
                struct placement_pod pod =
                        pod_of(1 + (unsigned)(random() % 3), (uint64_t)(100 + random() % 8 * 100),
                               random() % 6 ? (unsigned)(random() % 60) : 100);

                if (random() % 4 == 0) { /* a second container */
                        pod.needs[pod.need_count++] = (struct placement_need){
                                .phase = random() % 2 ? POD_APP : POD_INIT,
                                .count = 1,
                                .memory_mib = (uint64_t)(100 + random() % 4 * 100),
                        };
                }
                if (random() % 4 == 0)
                        pod.topology = PLACEMENT_NUMA_STRICT;
                const bool is_possible = brute_find(&scene, &pod, &least);

                CHECK_EQ(preemption_find(&scene.node, &pod, scene.victims, scene.victim_count,
                                         &preemption) == 0,
                         is_possible);
                if (!is_possible)
                        continue;
                found++;
                CHECK_EQ(preemption_cost_compare(&preemption.cost, &least), 0);
                for (unsigned i = 0; i < scene.victim_count; i++)
                        least.count -= preemption.is_chosen[i];
                CHECK_EQ(least.count, 0);
        }
        CHECK(found > 1000);
}

/* Many pods on many GPUs: it ends, and nobody goes who could be spared. */
TEST(work_is_bounded)
{
        static struct preemption_hold holds[PREEMPTION_VICTIMS];
        static struct preemption_victim victims[PREEMPTION_VICTIMS];
        static struct preemption preemption;
        struct placement_device devices[PLACEMENT_DEVICES];
        const struct placement_node node = { .devices = devices,
                                             .device_count = PLACEMENT_DEVICES,
                                             .allowed = ~UINT64_C(0) };
        const struct placement_pod pod = pod_of(32, 500, 0);

        for (unsigned i = 0; i < PLACEMENT_DEVICES; i++)
                devices[i] = (struct placement_device){
                        .memory_mib = 1000, .cores = 100, .slots = 10, .is_usable = true
                };
        for (unsigned i = 0; i < PREEMPTION_VICTIMS; i++) {
                holds[i] = (struct preemption_hold){ .device = i % PLACEMENT_DEVICES,
                                                     .use = { .memory_mib = 125, .slots = 1 } };
                victims[i] = (struct preemption_victim){ .holds = &holds[i], .hold_count = 1 };
                placement_use_add(&devices[holds[i].device].used, &holds[i].use);
        }
        CHECK_EQ(preemption_find(&node, &pod, victims, PREEMPTION_VICTIMS, &preemption), 0);
        CHECK_EQ(preemption.cost.count, 128);
}

int main(void)
{
        return RUN(CASE(one_large_victim_before_two_small_ones),
                   CASE(two_lowly_ones_before_one_of_rank),
                   CASE(among_equals_the_one_who_began_last_goes),
                   CASE(no_pod_is_evicted_where_the_pod_fits_or_never_will),
                   CASE(whole_gpus_are_emptied), CASE(never_more_than_the_least),
                   CASE(work_is_bounded));
}
