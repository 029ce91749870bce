/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whose slots are whose, by kubelet's list. */
#include "slot_owner.h"

#include "unit.h"

static V1__ContainerDevices devices[3];
static V1__ContainerResources containers[3];
static V1__PodResources pods[2];
static V1__ListPodResourcesResponse list;

static char *first_ids[] = { (char *)"vgpu-1", (char *)"vgpu-2" };
static char *second_ids[] = { (char *)"vgpu-3" };

/* Pod ns/a: "main" with vgpu-1 and 2 in two entries, "side" with nothing. Pod ns/b: "main" with vgpu-3. */
static void list_make(void)
{
        static V1__ContainerDevices *of_first[] = { &devices[0], &devices[1] };
        static V1__ContainerDevices *of_second[] = { &devices[2] };
        static V1__ContainerResources *in_a[] = { &containers[0], &containers[1] };
        static V1__ContainerResources *in_b[] = { &containers[2] };
        static V1__PodResources *all[] = { &pods[0], &pods[1] };

        for (unsigned i = 0; i < 3; i++) {
                v1__container_devices__init(&devices[i]);
                devices[i].resource_name = (char *)"nvidia.com/vgpu";
                devices[i].device_ids = i < 2 ? &first_ids[i] : second_ids;
                devices[i].n_device_ids = 1;
                v1__container_resources__init(&containers[i]);
                containers[i].name = (char *)(i == 1 ? "side" : "main");
        }
        containers[0].devices = of_first;
        containers[0].n_devices = 2;
        containers[2].devices = of_second;
        containers[2].n_devices = 1;
        for (unsigned i = 0; i < 2; i++) {
                v1__pod_resources__init(&pods[i]);
                pods[i].namespace_ = (char *)"ns";
                pods[i].name = (char *)(i ? "b" : "a");
                pods[i].containers = i ? in_b : in_a;
                pods[i].n_containers = i ? 1 : 2;
        }
        v1__list_pod_resources_response__init(&list);
        list.pod_resources = all;
        list.n_pod_resources = 2;
}

TEST(slots_are_of_the_pod_of_which_a_container_holds_one)
{
        char *both[] = { (char *)"vgpu-9", (char *)"vgpu-2" };

        list_make();
        CHECK(slot_owner_find(&list, "nvidia.com/vgpu", first_ids, 2) == &pods[0]);
        CHECK(slot_owner_find(&list, "nvidia.com/vgpu", both, 2) == &pods[0]);
        CHECK(slot_owner_find(&list, "nvidia.com/vgpu", second_ids, 1) == &pods[1]);
}

TEST(slots_of_another_resource_are_others)
{
        char *strange[] = { (char *)"vgpu-7" };

        list_make();
        CHECK(!slot_owner_find(&list, "nvidia.com/vgpu-number", first_ids, 2));
        CHECK(!slot_owner_find(&list, "nvidia.com/vgpu", strange, 1));
        CHECK(!slot_owner_find(&list, "nvidia.com/vgpu", first_ids, 0));
}

TEST(a_container_that_is_not_listed_of_a_pod_that_is)
{
        list_make();
        CHECK(slot_owner_is_unlisted(&list, "ns", "a", "init"));
        CHECK(!slot_owner_is_unlisted(&list, "ns", "a", "side"));
        CHECK(!slot_owner_is_unlisted(&list, "ns", "c", "init"));
        CHECK(!slot_owner_is_unlisted(&list, "other", "a", "init"));
}

int main(void)
{
        return RUN(CASE(slots_are_of_the_pod_of_which_a_container_holds_one),
                   CASE(slots_of_another_resource_are_others),
                   CASE(a_container_that_is_not_listed_of_a_pod_that_is));
}
