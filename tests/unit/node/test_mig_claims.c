/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of MIG devices that are held under one of their names. */
#include "mig_claims.h"

#include "offer_list.h"
#include "pod_list.h"
#include "str.h"
#include "unit.h"

#define NVIDIA "nvidia.com/mig-1g.5gb"
#define DAS    "mig.das.com/1g.5gb"

TEST(what_is_held_under_one_name_is_unhealthy_under_the_other)
{
        struct vec offers = VEC_OF(struct offer);
        struct mig_claims claims;

        mig_claims_init(&claims);
        for (unsigned i = 0; i < 2; i++) {
                struct offer offer = { .kind = OFFER_MIG };

                str_copy(offer.resource, sizeof offer.resource, i ? DAS : NVIDIA);
                CHECK_EQ(slots_add(&offer.slots, "MIG-1", 0, 1, 0), 0);
                CHECK_EQ(slots_add(&offer.slots, "MIG-2", 0, 1, 0), 0);
                CHECK_EQ(vec_push(&offers, &offer), 0);
        }
        CHECK_EQ(mig_claims_take(&claims, "MIG-1", NVIDIA, 0), 0);
        CHECK_STR(mig_claims_holder(&claims, "MIG-1"), NVIDIA);
        CHECK(!mig_claims_holder(&claims, "MIG-2"));
        offer_list_withhold(&offers, &claims);
        CHECK_EQ(slots_healthy(&((struct offer *)vec_at(&offers, 0))->slots), 2);
        CHECK_EQ(slots_healthy(&((struct offer *)vec_at(&offers, 1))->slots), 1);
        CHECK_EQ(((struct offer *)vec_at(&offers, 1))->slots.groups[0].healthy, 0);
        offer_list_done(&offers);
        mig_claims_done(&claims);
}

TEST(kubelet_says_what_is_held_and_when_it_no_longer_is)
{
        struct pod_list made = { 0 };
        struct mig_claims claims;

        mig_claims_init(&claims);
        CHECK_EQ(mig_claims_refresh(&claims, pod_list(&made, DAS, "MIG-1"), 5), 1);
        CHECK_STR(mig_claims_holder(&claims, "MIG-1"), DAS);
        CHECK_EQ(mig_claims_refresh(&claims, pod_list(&made, DAS, "MIG-1"), 6), 0);
        CHECK_EQ(mig_claims_refresh(&claims, pod_list(&made, NULL, NULL), 7), 0);
        CHECK(mig_claims_holder(&claims, "MIG-1"));
        CHECK_EQ(mig_claims_refresh(&claims, pod_list(&made, NULL, NULL), 5 + MIG_CLAIM_GRACE_NS),
                 1);
        CHECK(!mig_claims_holder(&claims, "MIG-1"));
        CHECK_EQ(mig_claims_refresh(&claims, pod_list(&made, "nvidia.com/vgpu", "vgpu-1"), 9), 0);
        CHECK(!mig_claims_holder(&claims, "vgpu-1"));
        mig_claims_done(&claims);
}

TEST(a_claimed_device_keeps_its_holder)
{
        struct pod_list made = { 0 };
        struct mig_claims claims;

        mig_claims_init(&claims);
        CHECK_EQ(mig_claims_take(&claims, "MIG-1", NVIDIA, 0), 0);
        CHECK_EQ(mig_claims_refresh(&claims, pod_list(&made, DAS, "MIG-1"), 1), 0);
        CHECK_STR(mig_claims_holder(&claims, "MIG-1"), NVIDIA);
        CHECK_EQ(mig_claims_refresh(&claims, pod_list(&made, DAS, "MIG-1"), MIG_CLAIM_GRACE_NS), 1);
        CHECK(!mig_claims_holder(&claims, "MIG-1"));
        mig_claims_done(&claims);
}

int main(void)
{
        return RUN(CASE(what_is_held_under_one_name_is_unhealthy_under_the_other),
                   CASE(kubelet_says_what_is_held_and_when_it_no_longer_is),
                   CASE(a_claimed_device_keeps_its_holder));
}
