/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPUs a pod gets, and that it gets them whenever there are any. */
#include "placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static struct placement_device device_of(uint64_t memory_mib)
{
        return (struct placement_device){
                .memory_mib = memory_mib, .cores = 100, .slots = 10, .is_usable = true
        };
}

static struct placement_node node_of(const struct placement_device *devices, unsigned count)
{
        return (struct placement_node){ .devices = devices,
                                        .device_count = count,
                                        .allowed = ~UINT64_C(0) };
}

static struct placement_pod pod_of(struct placement_need need)
{
        return (struct placement_pod){ .needs = { need }, .need_count = 1 };
}

static int find(const struct placement_node *node, const struct placement_pod *pod,
                struct placement *ret_placement)
{
        struct err e = { 0 };
        const int r = placement_find(node, pod, ret_placement, &e);

        CHECK(r == 0 || e.text[0]);
        return r;
}

static uint64_t chosen(const struct placement_node *node, struct placement_pod pod)
{
        struct placement placement;

        return find(node, &pod, &placement) == 0 ? placement.chosen[0] : 0;
}

TEST(binpack_takes_the_fullest_spread_the_emptiest)
{
        struct placement_device devices[3] = { device_of(1000), device_of(1000), device_of(1000) };
        const struct placement_node node = node_of(devices, 3);
        struct placement_pod pod = pod_of((struct placement_need){ .count = 1, .memory_mib = 300 });

        devices[0].used.memory_mib = 200;
        devices[1].used.memory_mib = 600;
        pod.policy = PLACEMENT_BINPACK;
        CHECK_EQ(chosen(&node, pod), 2);
        pod.policy = PLACEMENT_SPREAD;
        CHECK_EQ(chosen(&node, pod), 4);
        pod.policy = PLACEMENT_ANY;
        CHECK_EQ(chosen(&node, pod), 1);
        devices[1].used.memory_mib = 701;
        pod.policy = PLACEMENT_BINPACK;
        CHECK_EQ(chosen(&node, pod), 1);
}

TEST(every_bound_of_a_gpu_holds)
{
        struct placement_device device = device_of(1000);
        const struct placement_node node = node_of(&device, 1);
        const struct placement_pod pod =
                pod_of((struct placement_need){ .count = 1, .memory_mib = 500, .cores = 50 });

        CHECK_EQ(chosen(&node, pod), 1);
        device.used = (struct placement_use){ .memory_mib = 501, .slots = 1 };
        CHECK_EQ(chosen(&node, pod), 0);
        device.used = (struct placement_use){ .cores = 51, .slots = 1 };
        CHECK_EQ(chosen(&node, pod), 0);
        device.used = (struct placement_use){ .slots = 10 };
        CHECK_EQ(chosen(&node, pod), 0);
        device.used = (struct placement_use){ .cores = 0, .slots = 1, .exclusive = 1 };
        CHECK_EQ(chosen(&node, pod), 0);
        device.used = (struct placement_use){ 0 };
        device.is_usable = false;
        CHECK_EQ(chosen(&node, pod), 0);
}

TEST(a_whole_gpu_is_had_alone)
{
        struct placement_device device = device_of(1000);
        const struct placement_node node = node_of(&device, 1);
        const struct placement_pod pod =
                pod_of((struct placement_need){ .count = 1, .memory_percent = 100, .cores = 100 });

        CHECK_EQ(chosen(&node, pod), 1);
        device.used.slots = 1; /* somebody without a limit of compute */
        CHECK_EQ(chosen(&node, pod), 0);
}

TEST(gpus_of_a_need_are_distinct)
{
        const struct placement_device devices[2] = { device_of(1000), device_of(1000) };
        const struct placement_node node = node_of(devices, 2);
        struct placement_pod pod = pod_of((struct placement_need){ .count = 2, .memory_mib = 100 });

        CHECK_EQ(chosen(&node, pod), 3);
        pod.needs[0].count = 3;
        CHECK_EQ(chosen(&node, pod), 0);
}

/* The applications may have what an init container had. */
TEST(init_containers_run_before)
{
        const struct placement_device device = device_of(1000);
        const struct placement_node node = node_of(&device, 1);
        struct placement_pod pod = {
                .needs = { { .phase = POD_INIT, .count = 1, .memory_mib = 900 },
                           { .phase = POD_APP, .count = 1, .memory_mib = 400 },
                           { .phase = POD_APP, .count = 1, .memory_mib = 300 } },
                .need_count = 3,
        };
        struct placement placement;

        CHECK_EQ(find(&node, &pod, &placement), 0);
        CHECK_EQ(placement.peak[0].memory_mib, 900);
        CHECK_EQ(placement.peak[0].slots, 2);
        /* A sidecar that began before runs beside it; one that begins later does not. */
        pod.needs[3] =
                (struct placement_need){ .phase = POD_SIDECAR, .count = 1, .memory_mib = 200 };
        pod.need_count = 4;
        CHECK_EQ(find(&node, &pod, &placement), 0);
        CHECK_EQ(placement.peak[0].memory_mib, 900);
        const struct placement_need last = pod.needs[3];

        pod.needs[3] = pod.needs[0];
        pod.needs[0] = last;
        CHECK_EQ(find(&node, &pod, &placement), -ENOSPC);
}

TEST(numa_and_links)
{
        struct placement_device devices[4] = { device_of(1000), device_of(1000), device_of(1000),
                                               device_of(1000) };
        static const uint8_t links[16] = { 0, 0, 9, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0 };
        struct placement_node node = node_of(devices, 4);
        struct placement_pod pod = pod_of((struct placement_need){ .count = 2, .memory_mib = 100 });

        devices[0].numa = 1;
        devices[3].numa = 1;
        pod.topology = PLACEMENT_NUMA;
        CHECK_EQ(chosen(&node, pod), 9);
        node.links = links;
        pod.topology = PLACEMENT_LINK;
        CHECK_EQ(chosen(&node, pod), 5);
        pod.needs[0].count = 3;
        CHECK(chosen(&node, pod) != 0);
        pod.topology = PLACEMENT_LINK_STRICT;
        CHECK_EQ(chosen(&node, pod), 0);
        pod.topology = PLACEMENT_NUMA_STRICT;
        CHECK_EQ(chosen(&node, pod), 0);
}

/* What is slower but surely complete: every set for every need, in any order. */
static bool brute_fits(const struct placement_node *node, const struct placement_pod *pod,
                       unsigned index, enum pod_phase phase, struct placement_use *now)
{
        while (index < pod->need_count && pod->needs[index].phase != phase)
                index++;
        if (index == pod->need_count)
                return true;
        const struct placement_need *need = &pod->needs[index];

        for (uint64_t set = 0; set < UINT64_C(1) << node->device_count; set++) {
                bool is_free = (unsigned)__builtin_popcountll(set) == need->count;
                struct placement_use before[PLACEMENT_DEVICES];

                memcpy(before, now, sizeof before);
                for (unsigned i = 0; is_free && i < node->device_count; i++) {
                        const struct placement_device *device = &node->devices[i];
                        const struct placement_use use = placement_use_of(need, device);

                        if (!(set >> i & 1))
                                continue;
                        is_free = device->is_usable &&
                                  device->used.exclusive + now[i].exclusive == 0 &&
                                  !(use.exclusive && device->used.slots + now[i].slots > 0);
                        now[i].memory_mib += use.memory_mib;
                        now[i].cores += use.cores;
                        now[i].slots++;
                        now[i].exclusive = (uint16_t)(now[i].exclusive + use.exclusive);
                        is_free =
                                is_free &&
                                device->used.memory_mib + now[i].memory_mib <= device->memory_mib &&
                                device->used.cores + now[i].cores <= device->cores &&
                                device->used.slots + now[i].slots <= device->slots;
                }
                if (is_free && brute_fits(node, pod, index + 1, phase, now))
                        return true;
                memcpy(now, before, sizeof before);
        }
        return false;
}

static void random_case(unsigned seed)
{
        struct placement_device devices[4];
        struct placement_use now[PLACEMENT_DEVICES] = { 0 };
        struct placement_pod pod = { .need_count = 1 + seed % 3 };
        struct placement_node node = node_of(devices, 1 + seed / 3 % 4);
        struct placement placement;

        srandom(seed);
        for (unsigned i = 0; i < node.device_count; i++) {
                devices[i] = device_of((uint64_t)(500 + random() % 3 * 250));
                devices[i].slots = (uint16_t)(1 + random() % 3);
                devices[i].is_usable = random() % 8 != 0;
                devices[i].used.slots = (uint16_t)(random() % 2);
                devices[i].used.memory_mib = devices[i].used.slots * (uint64_t)(random() % 500);
                devices[i].used.cores = devices[i].used.slots * (unsigned)(random() % 60);
        }
        for (unsigned i = 0; i < pod.need_count; i++)
                pod.needs[i] = (struct placement_need){
                        .phase = POD_APP,
                        .count = 1 + (unsigned)(random() % 3),
                        .memory_mib = (uint64_t)(100 + random() % 5 * 100),
                        .cores = random() % 6 ? (unsigned)(random() % 50) : 100,
                };
        pod.policy = (enum placement_policy)(random() % (PLACEMENT_ANY + 1));
        const bool is_possible = brute_fits(&node, &pod, 0, POD_APP, now);

        CHECK_EQ(find(&node, &pod, &placement) == 0, is_possible);
        for (unsigned i = 0; is_possible && i < node.device_count; i++) {
                CHECK(devices[i].used.memory_mib + placement.peak[i].memory_mib <=
                      devices[i].memory_mib);
                CHECK(devices[i].used.cores + placement.peak[i].cores <= devices[i].cores);
        }
}

TEST(a_pod_that_fits_is_placed)
{
        for (unsigned seed = 0; seed < 20000; seed++)
                random_case(seed);
}

/* Hopeless puzzles end. */
TEST(work_is_bounded)
{
        struct placement_device devices[PLACEMENT_DEVICES];
        const struct placement_node node = node_of(devices, PLACEMENT_DEVICES);
        struct placement_pod pod = { .need_count = PLACEMENT_NEEDS };
        struct placement placement;

        for (unsigned i = 0; i < PLACEMENT_DEVICES; i++)
                devices[i] = device_of(1000);
        for (unsigned i = 0; i < PLACEMENT_NEEDS; i++)
                pod.needs[i] = (struct placement_need){ .count = 32, .memory_mib = 63 };
        CHECK_EQ(find(&node, &pod, &placement), -ENOSPC);
        pod.topology = PLACEMENT_LINK;
        CHECK_EQ(find(&node, &pod, &placement), -ENOSPC);
}

int main(void)
{
        return RUN(CASE(binpack_takes_the_fullest_spread_the_emptiest),
                   CASE(every_bound_of_a_gpu_holds), CASE(a_whole_gpu_is_had_alone),
                   CASE(gpus_of_a_need_are_distinct), CASE(init_containers_run_before),
                   CASE(numa_and_links), CASE(a_pod_that_fits_is_placed), CASE(work_is_bounded));
}
