/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are remembered are those that would be given anew; arguments are cut as JSON has them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "verbs.h"

static struct vec devices_of(const char *prefix, unsigned count, uint64_t memory_mib)
{
        struct vec devices = VEC_OF(struct node_device);

        for (unsigned i = 0; i < count; i++) {
                struct node_device device = { .index = i,
                                              .type = "NVIDIA A100",
                                              .memory_mib = memory_mib,
                                              .cores = 100,
                                              .slots = 10,
                                              .is_healthy = true };

                snprintf(device.uuid, sizeof device.uuid, "GPU-%.40s-%u", prefix, i);
                vec_push(&devices, &device);
        }
        return devices;
}

static struct gpu_request gpu_request_of(unsigned count, uint64_t memory_mib)
{
        struct gpu_request gpu_request;

        memset(&gpu_request, 0, sizeof gpu_request);
        gpu_request.pod.need_count = 1;
        gpu_request.pod.needs[0] =
                (struct placement_need){ .count = count, .memory_mib = memory_mib };
        strcpy(gpu_request.containers[0], "c");
        return gpu_request;
}

static void answers_are_fresh(struct request_class *class, const struct cluster *cluster,
                              const char *name)
{
        const struct cluster_node *node = cluster_node_find(cluster, name);
        struct placement placement;
        struct err e = { 0 };

        if (!node)
                return;
        const struct request_answer *answer = request_class_query(class, node);

        if (cluster_place(node, &class->gpu_request, NULL, &placement, &e) == 0) {
                CHECK_EQ(answer->reason, 0);
                return;
        }
        const char *reason = request_class_reason(class, answer);

        CHECK_EQ(strlen(reason), strlen(e.text) + 2);
        CHECK(strncmp(reason + 1, e.text, strlen(e.text)) == 0);
}

static void random_step(struct cluster *cluster, const struct gpu_request *gpu_request)
{
        const struct cluster_node *node;
        struct allocation allocation;
        struct placement placement;
        char name[16], uid[16];
        struct vec devices;

        snprintf(name, sizeof name, "n%ld", random() % 5);
        snprintf(uid, sizeof uid, "u%ld", random() % 20);
        switch (random() % 8) {
        case 0:
                cluster_node_remove(cluster, name);
                return;
        case 1:
                devices = devices_of(name, 1 + (unsigned)random() % 4, 1000);
                CHECK_EQ(cluster_node_set(cluster, name, &devices), 0);
                vec_done(&devices);
                return;
        case 2:
        case 3:
        case 4:
                cluster_pod_release(cluster, uid);
                return;
        default:
                node = cluster_node_find(cluster, name);
                if (!node || cluster_pod_find(cluster, uid) ||
                    cluster_place(node, gpu_request, NULL, &placement, NULL) < 0)
                        return;
                CHECK_EQ(cluster_allocation(node, gpu_request, &placement, uid, &allocation), 0);
                CHECK_EQ(cluster_pod_hold(cluster, uid, &allocation, gpu_request, true), 0);
                allocation_done(&allocation);
        }
}

TEST(what_is_remembered_is_what_would_be_found)
{
        const struct gpu_request gpu_requests[] = { gpu_request_of(1, 300), gpu_request_of(2, 500),
                                                    gpu_request_of(3, 100) };
        struct cluster cluster = { 0 };
        struct request_cache cache;

        srandom(3);
        request_cache_init(&cache);
        for (unsigned i = 0; i < 20000; i++) {
                struct request_class *class =
                        request_cache_find(&cache, &gpu_requests[random() % 3]);

                random_step(&cluster, &class->gpu_request);
                for (unsigned n = 0; n < 5; n++)
                        answers_are_fresh(class, &cluster, (char[]){ 'n', (char)('0' + n), 0 });
        }
        CHECK_EQ(cache.all.count, 3);
        request_cache_done(&cache);
        cluster_done(&cluster);
}

TEST(unused_classes_are_evicted)
{
        struct request_cache cache;
        struct gpu_request gpu_request = gpu_request_of(1, 1);

        request_cache_init(&cache);
        struct request_class *held = request_cache_find(&cache, &gpu_request);

        request_class_hold(held);
        for (unsigned i = 2; i < 1000; i++) {
                gpu_request = gpu_request_of(1, i);
                CHECK(request_cache_find(&cache, &gpu_request) != NULL);
        }
        CHECK_EQ(cache.all.count, REQUEST_CACHE_CLASSES + 1);
        gpu_request = gpu_request_of(1, 1);
        CHECK(request_cache_find(&cache, &gpu_request) == held);
        request_class_release(&cache, held);
        CHECK_EQ(cache.all.count, REQUEST_CACHE_CLASSES);
        request_cache_done(&cache);
}

static int read_text(const char *text, char *ret_names, size_t names_bytes)
{
        struct err e = { 0 };
        struct args args;
        const char *at, *name;
        size_t count, used = 0;
        const int r = args_read(text, strlen(text), NULL, &args, &e);

        ret_names[0] = '\0';
        if (r < 0)
                return r;
        at = args.names;
        while (args_next(&args, &at, &name, &count))
                used += (size_t)snprintf(ret_names + used, names_bytes - used, "%.*s;", (int)count,
                                         name);
        args_done(&args);
        return 0;
}

TEST(arguments_are_cut)
{
        char names[256];

        CHECK_EQ(read_text("{\"Pod\":{\"a\":[1,\"]}\\\"\"]},\"Nodes\":null,\"NodeNames\":[\"a\","
                           "\"b-1\"]}",
                           names, sizeof names),
                 0);
        CHECK_STR(names, "a;b-1;");
        CHECK_EQ(read_text(" { \"NodeNames\" : [ \"x\" , \"y\" ] , \"Pod\" : { } } ", names,
                           sizeof names),
                 0);
        CHECK_STR(names, "x;y;");
        CHECK_EQ(read_text("{\"Pod\":{},\"NodeNames\":[]}", names, sizeof names), 0);
        CHECK_STR(names, "");
        CHECK_EQ(read_text("{\"Pod\":{},\"NodeNames\":null}", names, sizeof names), 0);
        static const char *const bad[] = { "",
                                           "[]",
                                           "{",
                                           "{}",
                                           "{\"Pod\":{}",
                                           "{\"Pod\":[]}",
                                           "{\"Pod\":{},\"NodeNames\":[\"a\" \"b]}",
                                           "{\"Pod\":{},\"NodeNames\":[1]}",
                                           "{\"Pod\":{},\"NodeNames\":[\"a\\n\"]}",
                                           "{\"Pod\":{},\"NodeNames\":[,]}",
                                           "{\"Pod\":{\"a\":},\"NodeNames\":[\"a\"]}" };

        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
                CHECK_EQ(read_text(bad[i], names, sizeof names), -EINVAL);
}

int main(void)
{
        return RUN(CASE(what_is_remembered_is_what_would_be_found),
                   CASE(unused_classes_are_evicted), CASE(arguments_are_cut));
}
