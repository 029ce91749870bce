/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of victims, and of the nomination of the pod that preempts them. */
#include "verb_preempt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#define DEVICE(id)                                                                                \
        "{\"id\":" id ",\"type\":\"A100\",\"uuid\":\"GPU-" id                                     \
        "\",\"core\":100,\"memory\":1000,\"number\":10,\"numa\":0,\"mig\":false,\"busId\":\"0\"," \
        "\"capability\":8,\"healthy\":true}"

static struct cluster cluster;

static int before(void **state)
{
        struct vec devices;

        (void)state;
        cluster = (struct cluster){ 0 };
        CHECK_EQ(node_devices_parse("[" DEVICE("0") "," DEVICE("1") "]", &devices, NULL), 0);
        CHECK_EQ(cluster_node_set(&cluster, "n", &devices), 0);
        return 0;
}

static int after(void **state)
{
        (void)state;
        cluster_done(&cluster);
        return 0;
}

static struct gpu_request gpu_request_of(int priority, uint64_t memory_mib)
{
        struct gpu_request gpu_request = { .priority = priority };

        gpu_request.pod.need_count = 1;
        gpu_request.pod.needs[0] = (struct placement_need){ .count = 1, .memory_mib = memory_mib };
        snprintf(gpu_request.containers[0], sizeof gpu_request.containers[0], "c");
        return gpu_request;
}

static struct pod_ref pod_ref_of(const char *uid, int priority)
{
        struct pod_ref pod_ref = { .priority = priority, .may_preempt = true };

        snprintf(pod_ref.uid, sizeof pod_ref.uid, "%s", uid);
        snprintf(pod_ref.namespace_name, sizeof pod_ref.namespace_name, "ns");
        snprintf(pod_ref.name, sizeof pod_ref.name, "pod-%s", uid);
        return pod_ref;
}

static int place(const char *uid, int priority, uint64_t memory_mib)
{
        const struct gpu_request gpu_request = gpu_request_of(priority, memory_mib);
        struct placement placement;

        return cluster_place(cluster_node_find(&cluster, "n"), &gpu_request, uid, &placement, NULL);
}

static void hold(const char *uid, int priority, uint64_t memory_mib)
{
        const struct cluster_node *node = cluster_node_find(&cluster, "n");
        const struct gpu_request gpu_request = gpu_request_of(priority, memory_mib);
        const struct pod_ref pod_ref = pod_ref_of(uid, priority);
        struct allocation allocation;
        struct placement placement;

        CHECK_EQ(cluster_place(node, &gpu_request, uid, &placement, NULL), 0);
        CHECK_EQ(cluster_allocation(node, &gpu_request, &placement, uid, &allocation), 0);
        CHECK_EQ(cluster_pod_hold(&cluster, uid, &allocation, &gpu_request, false), 0);
        allocation_done(&allocation);
        cluster_pod_describe(&cluster, &pod_ref);
}

static int victims(const char *uid, int priority, uint64_t memory_mib, struct victims *ret_victims)
{
        const struct gpu_request gpu_request = gpu_request_of(priority, memory_mib);
        const struct victims_question question = { .gpu_request = &gpu_request,
                                                   .uid = uid,
                                                   .now_ns = 1000 };

        return victims_find(cluster_node_find(&cluster, "n"), &question, ret_victims);
}

static void nomination(const char *uid, int priority, uint64_t memory_mib)
{
        const struct pod_ref pod_ref = pod_ref_of(uid, priority);
        struct victims found;

        CHECK_EQ(victims(uid, priority, memory_mib, &found), 0);
        CHECK_EQ(cluster_nomination_set(&cluster, &pod_ref, "n", &found.placement, 0), 0);
}

TEST(only_lower_priorities_go_and_only_those_that_help)
{
        struct victims found;

        hold("a", 5, 900);
        hold("b", 1, 600);
        hold("c", 1, 300);
        CHECK_EQ(victims("p", 1, 500, &found), -ENOSPC);
        CHECK_EQ(victims("p", 2, 500, &found), 0);
        CHECK_EQ(found.count, 1);
        CHECK_STR(found.pods[0]->uid, "b");
        CHECK_STR(found.pods[0]->names, "ns");
        CHECK_STR(found.pods[0]->names + 3, "pod-b");
}

TEST(a_pod_that_is_terminating_is_waited_for)
{
        struct pod_ref pod_ref = pod_ref_of("b", 1);
        struct victims found;

        hold("a", 1, 900);
        hold("b", 1, 900);
        pod_ref.is_leaving = true;
        cluster_pod_describe(&cluster, &pod_ref);
        CHECK_EQ(victims("p", 2, 500, &found), 0);
        CHECK_EQ(found.count, 0);
        pod_ref.is_leaving = false; /* an older word of it changes nothing */
        cluster_pod_describe(&cluster, &pod_ref);
        CHECK_EQ(victims("p", 2, 500, &found), 0);
        CHECK_EQ(found.count, 0);
}

TEST(a_nomination_holds_against_the_same_and_lower_priorities)
{
        hold("a", 1, 900);
        hold("b", 1, 900);
        nomination("p", 5, 500);
        cluster_pod_release(&cluster, "a");
        cluster_pod_release(&cluster, "b");
        CHECK_EQ(place("x", 1, 600), 0); /* on the other GPU */
        hold("x", 1, 600);
        CHECK_EQ(place("y", 1, 600), -ENOSPC);
        CHECK_EQ(place("y", 5, 600), -ENOSPC);
        CHECK_EQ(place("y", 5, 400), 0);
        CHECK_EQ(place("y", 6, 600), 0); /* a higher one may */
        CHECK_EQ(place("p", 5, 500), 0);
        cluster_nomination_drop(&cluster, "p");
        CHECK_EQ(place("y", 1, 600), 0);
        CHECK(!cluster_nomination_find(&cluster, "p"));
}

TEST(a_guarded_pod_is_not_evicted)
{
        struct victims found;

        hold("a", 1, 900);
        hold("b", 2, 900);
        cluster_pod_guard(&cluster, "a", 0);
        CHECK_EQ(victims("p", 5, 500, &found), 0);
        CHECK_EQ(found.count, 1);
        CHECK_STR(found.pods[0]->uid, "b");
        const uint64_t first_ns = cluster_pod_find(&cluster, "a")->guarded_ns;

        /* For longer the next time. */
        cluster_pod_guard(&cluster, "a", first_ns);
        CHECK_EQ(cluster_pod_find(&cluster, "a")->guarded_ns, 3 * first_ns);
}

TEST(no_pod_is_evicted_on_a_node_without_its_agent)
{
        struct cluster_node *node = (struct cluster_node *)cluster_node_find(&cluster, "n");
        struct victims found;

        hold("a", 1, 900);
        hold("b", 1, 900);
        CHECK_EQ(victims("p", 5, 500, &found), 0);
        node->is_away = true;
        CHECK_EQ(victims("p", 5, 500, &found), -ENOSPC);
}

TEST(a_node_with_a_nomination_outlives_its_object)
{
        hold("a", 1, 900);
        nomination("p", 5, 500);
        cluster_pod_release(&cluster, "a");
        cluster_node_remove(&cluster, "n");
        CHECK(cluster_nomination_find(&cluster, "p") != NULL);
        cluster_nomination_drop(&cluster, "p");
        CHECK(!cluster_node_find(&cluster, "n"));
}

/* kube-scheduler sends "c" away for its own reasons: of ours one more must go, or none will do. */
TEST(preempt_adds_the_least_to_what_kube_scheduler_chose)
{
        const struct gpu_request gpu_request = gpu_request_of(5, 900),
                                 much = gpu_request_of(5, 1001);
        json_t *args =
                json_pack("{s:{s:{s:s}}, s:{s:{s:[{s:s}], s:i}, s:{s:[], s:i}}}", "Pod", "metadata",
                          "uid", "p", "NodeNameToMetaVictims", "n", "Pods", "UID", "c",
                          "NumPDBViolations", 1, "gone", "Pods", "NumPDBViolations", 0);
        json_t *answer;

        hold("a", 6, 1000);
        hold("b", 1, 600);
        hold("c", 1, 300);
        answer = verb_preempt(&cluster, args, &gpu_request, 0);
        const json_t *nodes = json_object_get(answer, "NodeNameToMetaVictims");
        const json_t *pods = json_object_get(json_object_get(nodes, "n"), "Pods");

        CHECK_EQ(json_object_size(nodes), 1);
        CHECK_EQ(json_array_size(pods), 2);
        CHECK_STR(json_string_value(json_object_get(json_array_get(pods, 0), "UID")), "c");
        CHECK_STR(json_string_value(json_object_get(json_array_get(pods, 1), "UID")), "b");
        CHECK_EQ(json_integer_value(
                         json_object_get(json_object_get(nodes, "n"), "NumPDBViolations")),
                 1);
        json_decref(answer);
        answer = verb_preempt(&cluster, args, &much, 0);
        CHECK_EQ(json_object_size(json_object_get(answer, "NodeNameToMetaVictims")), 0);
        json_decref(answer);
        json_decref(args);
}

int main(void)
{
        const struct CMUnitTest cases[] = {
                cmocka_unit_test_setup_teardown(preempt_adds_the_least_to_what_kube_scheduler_chose,
                                                before, after),
                cmocka_unit_test_setup_teardown(only_lower_priorities_go_and_only_those_that_help,
                                                before, after),
                cmocka_unit_test_setup_teardown(a_pod_that_is_terminating_is_waited_for, before,
                                                after),
                cmocka_unit_test_setup_teardown(
                        a_nomination_holds_against_the_same_and_lower_priorities, before, after),
                cmocka_unit_test_setup_teardown(a_guarded_pod_is_not_evicted, before, after),
                cmocka_unit_test_setup_teardown(no_pod_is_evicted_on_a_node_without_its_agent,
                                                before, after),
                cmocka_unit_test_setup_teardown(a_node_with_a_nomination_outlives_its_object,
                                                before, after),
        };

        return cmocka_run_group_tests(cases, NULL, NULL);
}
