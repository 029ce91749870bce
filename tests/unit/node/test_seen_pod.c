/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what is known of pods beyond their shares. */
#include "seen_pod.h"

#include "pod_process.h"
#include "unit.h"

TEST(a_pod_is_known_until_it_is_forgotten)
{
        struct seen_pods seen = { 0 };

        CHECK(!seen_pods_find(&seen, "u-1"));
        CHECK(seen_pods_take(&seen, "u-1") == seen_pods_take(&seen, "u-1"));
        CHECK(seen_pods_find(&seen, "u-1"));
        seen_pods_forget(&seen, "u-1");
        seen_pods_forget(&seen, "u-1");
        CHECK(!seen_pods_find(&seen, "u-1"));
        CHECK(seen_pods_take(&seen, "u-2"));
        seen_pods_done(&seen);
}

TEST(why_a_container_has_no_share_is_news_once)
{
        struct seen_pods seen = { 0 };
        struct seen_pod *pod = seen_pods_take(&seen, "u");

        CHECK(!seen_pod_refusal(pod, "a"));
        CHECK(seen_pod_refuse(pod, "a", "first"));
        CHECK(!seen_pod_refuse(pod, "a", "first"));
        CHECK(seen_pod_refuse(pod, "a", "second"));
        CHECK(seen_pod_refuse(pod, "b", "first"));
        CHECK_STR(seen_pod_refusal(pod, "a"), "second");
        seen_pod_clear(pod, "a");
        seen_pod_clear(pod, "a");
        CHECK(!seen_pod_refusal(pod, "a"));
        CHECK_STR(seen_pod_refusal(pod, "b"), "first");
        seen_pods_done(&seen);
}

#define UID "6f1b2c3d-0000-4000-8000-000000000001"

TEST(a_control_group_names_its_pod_in_either_way)
{
        CHECK(pod_process_is_of("0::/kubepods/burstable/pod" UID "/abc\n", UID));
        CHECK(pod_process_is_of("0::/kubepods.slice/kubepods-pod6f1b2c3d_0000_4000_8000_"
                                "000000000001.slice/cri-containerd-abc.scope\n",
                                UID));
        CHECK(!pod_process_is_of("0::/user.slice\n", UID));
        CHECK(!pod_process_is_of("0::/kubepods/pod7f1b2c3d-0000-4000-8000-000000000001\n", UID));
        CHECK(!pod_process_is_of("0::/kubepods\n", ""));
}

int main(void)
{
        return RUN(CASE(a_pod_is_known_until_it_is_forgotten),
                   CASE(why_a_container_has_no_share_is_news_once),
                   CASE(a_control_group_names_its_pod_in_either_way));
}
