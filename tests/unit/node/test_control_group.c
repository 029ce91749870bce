/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of control_group: names of groups as kubelet and the container runtimes choose them. */
#include "control_group.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "6c2a1f0e-9b3d-4d7e-8f11-aa00bb22cc33"
#define US  "6c2a1f0e_9b3d_4d7e_8f11_aa00bb22cc33"

static bool is_pods(const char *text)
{
        struct control_group group = { 0 };

        return control_group_parse(text, &group) == 0 && strcmp(group.pod_uid, UID) == 0 &&
               strcmp(group.container_id, ID) == 0;
}

static bool is_own(const char *text, const char *id)
{
        struct control_group group = { 0 };

        return control_group_parse(text, &group) == 0 && !group.pod_uid[0] &&
               strcmp(group.container_id, id) == 0;
}

TEST(a_container_of_a_pod_is_found_by_either_of_kubelets_names)
{
        CHECK(is_pods("0::/kubepods/burstable/pod" UID "/" ID "\n"));
        CHECK(is_pods("0::/kubepods/pod" UID "/" ID "\n"));
        CHECK(is_pods("0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" US
                      ".slice/cri-containerd-" ID ".scope\n"));
        CHECK(is_pods("0::/kubepods.slice/kubepods-pod" US ".slice/crio-" ID ".scope\n"));
        CHECK(is_pods("0::/kubepods.slice/kubepods-pod" US ".slice/docker-" ID ".scope\n"));
        CHECK(is_pods("0::/system.slice/containerd.service/kubepods-burstable-pod" US
                      ".slice:cri-containerd:" ID "\n"));
}

TEST(version_1_and_paths_of_another_namespace_are_read_too)
{
        CHECK(is_pods("12:pids:/kubepods/besteffort/pod" UID "/" ID "\n"
                      "11:memory:/kubepods/besteffort/pod" UID "/" ID "\n0::/\n"));
        CHECK(is_pods("3:cpu,cpuacct:/x\n2:memory:/kubepods/pod" UID "/" ID "\n"));
        CHECK(is_pods("0::/../../pod" UID "/" ID "\n"));
        CHECK(is_pods("0::/../kubepods-pod" US ".slice/cri-containerd-" ID ".scope\n"));
}

TEST(containers_without_a_pod_have_an_id)
{
        CHECK(is_own("0::/docker/" ID "\n", ID));
        CHECK(is_own("0::/system.slice/docker-" ID ".scope\n", ID));
        CHECK(is_own("0::/machine.slice/libpod-" ID ".scope/container\n", ID));
        CHECK(is_own("0::/default/redis\n", "redis"));
}

TEST(what_a_container_makes_below_its_group_does_not_count)
{
        CHECK(is_pods("0::/kubepods/pod" UID "/" ID "/kubepods/pod"
                      "00000000-0000-0000-0000-000000000000/" ID2 "\n"));
        CHECK(is_pods("0::/kubepods/pod" UID "/" ID "/docker/" ID2 "\n"));
        CHECK(is_own("0::/docker/" ID "/docker/" ID2 "\n", ID));
}

TEST(groups_of_no_container_are_recognized)
{
        struct control_group group;

        CHECK_EQ(control_group_parse("", &group), -ENOENT);
        CHECK_EQ(control_group_parse("0::/\n", &group), -ENOENT);
        CHECK_EQ(control_group_parse("nonsense", &group), -ENOENT);
        CHECK_EQ(control_group_parse("0::/system.slice/ssh.service\n", &group), -ENOENT);
        CHECK_EQ(control_group_parse("0::/kubepods/pod" UID "\n", &group), -ENOENT);
        CHECK_EQ(control_group_parse("0::/kubepods/pod" UID "/crio-conmon-" ID ".scope\n", &group),
                 -ENOENT);
        CHECK_EQ(control_group_parse("0::/kubepods/pod" UID "/" ID "0\n", &group), -ENOENT);
}

/* systemd lets a user make groups of any name there; only root's own are root's. */
TEST(groups_that_a_user_named_are_no_containers)
{
        static const char *const made[] = {
                "docker-" ID ".scope",
                "docker/" ID,
                "kubepods/pod" UID "/" ID,
                "kubepods.slice/kubepods-pod" US ".slice/crio-" ID ".scope",
                "containerd.service/kubepods-burstable-pod" US ".slice:cri-containerd:" ID,
                "redis",
                "user@0.service/redis",
        };
        struct control_group group;
        char text[512];

        for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
                snprintf(text, sizeof text,
                         "0::/user.slice/user-1000.slice/user@1000.service/app.slice/%s\n",
                         made[i]);
                CHECK_EQ(control_group_parse(text, &group), -ENOENT);
                CHECK(control_group_is_left(text));
        }
        CHECK(!control_group_is_left("5:pids:/docker/" ID "\n0::/user.slice/user-1000.slice\n"));
        CHECK(is_own("0::/user.slice/user-1000.slice/session-3.scope/" ID "\n", ID));
        CHECK(is_own("0::/user.slice/user-0.slice/user@0.service/" ID "\n", ID));
}

TEST(the_folder_that_a_name_is_in_says_who_chose_it)
{
        struct control_group group;
        char root[] = "/tmp/vgpu-test-groups-XXXXXX", folder[128];

        CHECK_EQ(control_group_parse("0::/bob.service/docker/" ID "/x\n", &group), 0);
        CHECK_STR(group.parent, "/bob.service/docker/");
        CHECK_EQ(control_group_parse("0::/default/redis\n", &group), 0);
        CHECK_STR(group.parent, "/default/");
        CHECK_EQ(control_group_parse("0::/kubepods/pod" UID "/" ID "\n", &group), 0);
        CHECK_STR(group.parent, "/kubepods/pod" UID "/");

        assert_non_null(mkdtemp(root));
        snprintf(folder, sizeof folder, "%s/default", root);
        CHECK_EQ(mkdir(folder, 0755), 0);
        snprintf(group.parent, sizeof group.parent, "/default/");
        CHECK_EQ(control_group_is_users(root, &group), getuid() != 0);
        if (getuid() == 0) {
                CHECK_EQ(chown(folder, 1000, 1000), 0);
                CHECK(control_group_is_users(root, &group));
        }
        rmdir(folder);
        rmdir(root);
}

int main(void)
{
        return RUN(CASE(a_container_of_a_pod_is_found_by_either_of_kubelets_names),
                   CASE(version_1_and_paths_of_another_namespace_are_read_too),
                   CASE(containers_without_a_pod_have_an_id),
                   CASE(what_a_container_makes_below_its_group_does_not_count),
                   CASE(groups_of_no_container_are_recognized),
                   CASE(groups_that_a_user_named_are_no_containers),
                   CASE(the_folder_that_a_name_is_in_says_who_chose_it));
}
