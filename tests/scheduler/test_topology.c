/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by how they reach each other, and memory in the node's units: from annotations to a placement. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_links.h"
#include "request_cache.h"
#include "unit.h"

#define DEVICE(id, numa)                                                                           \
        "{\"id\":" id ",\"type\":\"NVIDIA A100\",\"uuid\":\"GPU-" id                               \
        "\",\"core\":100,\"memory\":8192,\"number\":10,\"numa\":" numa ",\"mig\":false,\"busId\":" \
        "\"0\",\"capability\":8,\"healthy\":true}"
#define FOUR_DEVICES \
        "[" DEVICE("0", "0") "," DEVICE("1", "1") "," DEVICE("2", "0") "," DEVICE("3", "1") "]"

static void node_set(struct cluster *cluster, const char *config, const char *links_text)
{
        struct err e = { 0 };
        uint8_t *links;
        struct vec devices;

        CHECK_EQ(node_devices_parse(FOUR_DEVICES, &devices, &e), 0);
        node_devices_configure(&devices, config);
        CHECK_EQ(cluster_node_set(cluster, "n", &devices), 0);
        if (!links_text)
                return;
        CHECK_EQ(
                node_links_parse(links_text, &cluster_node_find(cluster, "n")->devices, &links, &e),
                0);
        cluster_node_set_links(cluster, "n", links);
}

/* The GPUs that a pod gets, bit per GPU; 0: none. */
static uint64_t place(const struct cluster *cluster, const char *limits, const char *topology,
                      struct err *e, uint64_t *ret_mib)
{
        char text[512];
        struct allocation allocation;
        struct placement placement;
        struct gpu_request gpu_request;

        snprintf(text, sizeof text,
                 "{\"metadata\":{\"annotations\":{\"vgpu.io/topology\":\"%s\"}},\"spec\":"
                 "{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":%s}}]}}",
                 topology, limits);
        json_t *pod = json_loads(text, 0, NULL);
        const struct cluster_node *node = cluster_node_find(cluster, "n");

        CHECK_EQ(gpu_request_read(pod, false, &gpu_request, e), 0);
        json_decref(pod);
        if (cluster_place(node, &gpu_request, NULL, &placement, e) < 0)
                return 0;
        CHECK_EQ(cluster_allocation(node, &gpu_request, &placement, "u", &allocation), 0);
        *ret_mib = ((struct allocation_part *)vec_at(&allocation.parts, 0))->memory_mib;
        allocation_done(&allocation);
        return placement.chosen[0];
}

#define PAIR  "{\"nvidia.com/vgpu\":\"2\",\"nvidia.com/gpumem\":\"100\"}"
#define THREE "{\"nvidia.com/vgpu\":\"3\",\"nvidia.com/gpumem\":\"100\"}"

TEST(pairs_are_near)
{
        struct cluster cluster = { 0 };
        struct err e = { 0 };
        uint64_t mib;

        node_set(&cluster, NULL, "[[0,1,20],[1,2,112],[0,9,112]]");
        CHECK_EQ(place(&cluster, PAIR, "none", &e, &mib), 0x3);
        CHECK_EQ(place(&cluster, PAIR, "numa", &e, &mib), 0x5);
        CHECK_EQ(place(&cluster, PAIR, "numa-strict", &e, &mib), 0x5);
        CHECK_EQ(place(&cluster, PAIR, "link", &e, &mib), 0x6);
        CHECK_EQ(place(&cluster, PAIR, "link-strict", &e, &mib), 0x6);
        cluster_done(&cluster);
}

TEST(strict_forms_refuse_what_the_others_take)
{
        struct cluster cluster = { 0 };
        struct err e = { 0 };
        uint64_t mib;

        node_set(&cluster, NULL, "[[0,1,20],[1,2,112]]");
        CHECK_EQ(__builtin_popcountll(place(&cluster, THREE, "numa", &e, &mib)), 3);
        CHECK_EQ(place(&cluster, THREE, "numa-strict", &e, &mib), 0);
        CHECK_STR(e.text, "no NUMA-local GPUs are free together");
        CHECK_EQ(__builtin_popcountll(place(&cluster, THREE, "link", &e, &mib)), 3);
        CHECK_EQ(place(&cluster, THREE, "link-strict", &e, &mib), 0);
        CHECK_STR(e.text, "no linked GPUs are free together");
        node_set(&cluster, NULL, NULL); /* nobody told of links: none are known */
        CHECK_EQ(place(&cluster, PAIR, "link-strict", &e, &mib), 0);
        cluster_done(&cluster);
}

TEST(memory_is_in_the_nodes_units_under_one_name)
{
        static const char factor[] = "{\"deviceSplit\":10,\"memoryFactor\":256}";
        struct cluster cluster = { 0 };
        struct err e = { 0 };
        uint64_t mib = 0;

        node_set(&cluster, factor, NULL);
        CHECK_EQ(place(&cluster, "{\"nvidia.com/vgpu-memory\":\"10\"}", "", &e, &mib), 1);
        CHECK_EQ(mib, 2560);
        CHECK_EQ(place(&cluster, "{\"nvidia.com/gpumem\":\"10\"}", "", &e, &mib), 1);
        CHECK_EQ(mib, 10);
        CHECK_EQ(place(&cluster, "{\"nvidia.com/vgpu-memory\":\"33\"}", "", &e, &mib), 0);
        CHECK_STR(e.text, "too few GPUs with 8448 MiB and 0 cores free: 0 of 4, 1 needed");
        node_set(&cluster, "no JSON", NULL);
        CHECK_EQ(place(&cluster, "{\"nvidia.com/vgpu-memory\":\"33\"}", "", &e, &mib), 1);
        CHECK_EQ(mib, 33);
        cluster_done(&cluster);
}

TEST(texts_that_tell_of_no_links)
{
        static const char *const bad[] = {
                "",           "{}",          "[1]",         "[[0,1]]",
                "[[0,1,-1]]", "[[0,1,256]]", "[[0,1,1,1]]", "[[\"0\",1,1]]"
        };
        struct cluster cluster = { 0 };
        struct err e = { 0 };
        uint8_t *links;

        node_set(&cluster, NULL, NULL);
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
                CHECK_EQ(node_links_parse(bad[i], &cluster_node_find(&cluster, "n")->devices,
                                          &links, &e),
                         -EPROTO);
        cluster_done(&cluster);
}

int main(void)
{
        return RUN(CASE(pairs_are_near), CASE(strict_forms_refuse_what_the_others_take),
                   CASE(memory_is_in_the_nodes_units_under_one_name),
                   CASE(texts_that_tell_of_no_links));
}
