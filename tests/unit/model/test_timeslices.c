/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of timeslices: the token's states one by one. */
#include "timeslices_case.h"

TEST(a_tenant_alone_has_an_endless_time_slice)
{
        int a, b;

        two_tenants(&a, &b);
        CHECK_EQ(settle(0), TIMESLICES_NEVER);
        assert_false(is_open(a));
        say(a, waiting);
        settle(MS);
        assert_true(is_open(a));
        CHECK_EQ(timeslices_grant(&timeslices, a).deadline_ns, TIMESLICES_NEVER);
        say(a, active);
        CHECK_EQ(settle(2 * MS), TIMESLICES_NEVER);
        /* It goes idle and keeps it. */
        say(a, idle);
        settle(3 * MS);
        assert_true(is_open(a));
}

TEST(the_next_has_it_only_when_the_holder_has_drained)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say_alive(a);
        say(b, waiting);
        settle(100 * MS);
        assert_false(is_open(a)); /* has had more than a time slice already */
        assert_false(is_open(b));
        say(a, waiting);
        settle(101 * MS);
        assert_true(is_open(b));
        /* A quantum, and what it is behind: two at most, it slept. */
        assert_in_range(timeslices_grant(&timeslices, b).deadline_ns, 111 * MS, 131 * MS + MS);
}

TEST(an_idle_holder_gives_it_up_at_once)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(a, active);
        settle(1 * MS);
        say(a, idle);
        say(b, waiting);
        settle(2 * MS);
        assert_true(is_open(b));
        assert_false(is_open(a));
}

TEST(a_holder_that_does_not_drain_is_left_to_the_driver)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say_alive(a);
        say(b, waiting);
        CHECK_EQ(settle(10 * MS), 42 * MS); /* told to drain; the patience is in the timer */
        settle(41 * MS);
        assert_false(is_open(b));
        settle(42 * MS);
        assert_true(is_open(b));
        assert_true(timeslices_grant(&timeslices, a).is_free);
        CHECK_EQ(timeslices.tenants[a].lapses, 1);
        /* Done at last: it takes part again. */
        say(a, waiting);
        say(b, active);
        settle(43 * MS);
        assert_false(timeslices_grant(&timeslices, a).is_free);
        settle(53 * MS);
        say(b, idle);
        settle(54 * MS);
        assert_true(is_open(a));
}

TEST(a_holder_without_a_heartbeat_is_given_up_before_its_deadline)
{
        int a, b;

        two_tenants(&a, &b);
        timeslices.device_bytes = 1000;
        timeslices.swap_bytes_per_s =
                50 * 1000; /* 10 ms: time slices of 90, patience of 32 + 160 */
        say(b, (struct timeslices_report){ .wants = true, .resident_bytes = 750 });
        say(a, (struct timeslices_report){ .wants = true, .resident_bytes = 750 });
        settle(1 * MS);
        say(a, (struct timeslices_report){ true, true, .signs = 1, .resident_bytes = 750 });
        CHECK_EQ(settle(5 * MS), 91 * MS);
        settle(90 * MS);
        assert_true(is_open(a));
        for (uint64_t now_ns = 98 * MS; now_ns <= 298 * MS && !is_open(b); now_ns += 8 * MS)
                settle(now_ns);
        assert_true(is_open(b));
        assert_true(timeslices_grant(&timeslices, a).is_free);
}

TEST(an_unused_time_slice_passes_on)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(b, waiting);
        CHECK_EQ(settle(1 * MS), 8 * MS);
        settle(8 * MS);
        assert_true(is_open(b));
        say(b, idle);
        settle(60 * MS);
        assert_false(is_open(a)); /* stopped */
        say(a, (struct timeslices_report){ .wants = true, .signs = 1 });
        settle(61 * MS);
        assert_true(is_open(a));
}

/* It rings, gives signs of life, and never begins. */
TEST(a_tenant_that_wants_and_never_begins_costs_others_nothing)
{
        uint64_t open_ns = 0, busy_ns = 0;
        int liar, other;

        two_tenants(&liar, &other);
        for (uint64_t now_ns = 0; now_ns < 4 * NS_PER_S; now_ns += MS) {
                struct timeslices_report report = active;

                say(liar, (struct timeslices_report){ .wants = true, .signs = now_ns });
                report.signs = now_ns;
                if (is_open(other))
                        report.busy_ns = busy_ns += MS;
                say(other, is_open(other) ? report : waiting);
                settle(now_ns);
                open_ns += is_open(other) ? MS : 0;
        }
        assert_true(open_ns > 38 * NS_PER_S / 10);
}

/* Once it takes one up again, it is as it was. */
TEST(a_tenant_that_comes_back_after_lapses_has_its_time_slices)
{
        int a, b;

        two_tenants(&a, &b);
        for (uint64_t now_ns = 0; now_ns < NS_PER_S; now_ns += MS) {
                say(a, (struct timeslices_report){ .wants = true, .signs = now_ns });
                say(b, is_open(b) ? active : waiting);
                settle(now_ns);
        }
        assert_true(timeslices.tenants[a].untaken > 3);
        uint64_t now_ns = NS_PER_S;
        for (; !is_open(a) && now_ns < 3 * NS_PER_S; now_ns += MS) {
                say(a, (struct timeslices_report){ .wants = true, .signs = now_ns });
                say(b, idle);
                settle(now_ns);
        }
        assert_true(is_open(a));
        say(a, active);
        settle(now_ns);
        say(a, idle);
        say(b, waiting);
        settle(now_ns + MS);
        assert_true(is_open(b));
        CHECK_EQ(timeslices.tenants[a].untaken, 0);
}

TEST(a_timeslice_begun_and_ended_between_two_steps_is_not_a_lapse)
{
        int a, b;

        two_tenants(&a, &b);
        say(b, waiting);
        say(a, waiting);
        settle(0);
        say(a, (struct timeslices_report){ .wants = true, .has_begun = true });
        settle(1 * MS);
        assert_true(is_open(b));
        CHECK_EQ(timeslices.tenants[a].lapses, 0);
}

TEST(a_latency_tenant_shortens_the_timeslice_of_a_batch_tenant)
{
        int a, b;
        const struct timeslices_limits latency = { .weight = 100, .is_latency = true };

        two_tenants(&a, &b);
        CHECK_EQ(timeslices_quantum_ns(&timeslices), 10 * MS);
        timeslices_limit(&timeslices, b, &latency);
        say(a, waiting);
        settle(0);
        say(a, active);
        say(b, waiting);
        settle(500 * US);
        CHECK_EQ(timeslices_grant(&timeslices, a).deadline_ns, 1 * MS);
        say(b, idle);
        settle(600 * US);
        CHECK_EQ(timeslices_quantum_ns(&timeslices), 4 * MS); /* it is about */
        settle(2 * NS_PER_S);
        CHECK_EQ(timeslices_quantum_ns(&timeslices), 10 * MS);
}

TEST(an_idle_tenant_saves_at_most_two_quanta)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(a, (struct timeslices_report){ .wants = true, .is_active = true, .busy_ns = 0 });
        settle(1 * MS);
        say(a, (struct timeslices_report){
                       .wants = true, .is_active = true, .busy_ns = 60 * NS_PER_S });
        say(b, waiting);
        settle(60 * NS_PER_S);
        const uint64_t ahead =
                timeslices.tenants[a].virtual_time - timeslices.tenants[b].virtual_time;
        CHECK_EQ(ahead, 20 * MS * 64 / 100);
}

TEST(a_false_report_is_charged_half_of_the_time_held)
{
        int a, b;

        two_tenants(&a, &b);
        say(b, waiting);
        say(a, waiting);
        settle(0);
        say(a, active);
        settle(9 * MS);
        settle(10 * MS);
        say(a, waiting);
        settle(12 * MS);
        CHECK_EQ(timeslices.tenants[a].charged_ns, 6 * MS);
        /* Nor does a boast cost another anything. */
        say(b,
            (struct timeslices_report){ .wants = true, .has_begun = true, .busy_ns = UINT64_MAX });
        settle(13 * MS);
        CHECK_EQ(timeslices.tenants[b].charged_ns, 1 * MS);
}

TEST(a_tenant_in_debt_waits_until_it_is_paid)
{
        const struct timeslices_limits tenth = { .weight = 10, .cap_ns_per_s = 64 * MS };
        int a, b;

        two_tenants(&a, &b);
        timeslices_limit(&timeslices, a, &tenth); /* with our margin: 65 ms per second */
        say(a, waiting);
        settle(0);
        say(a, (struct timeslices_report){ .wants = true, .is_active = true, .busy_ns = 0 });
        settle(1 * MS);
        say(a, (struct timeslices_report){ .wants = true, .has_begun = true, .busy_ns = 100 * MS });
        const uint64_t paid_ns = settle(100 * MS);
        assert_false(is_open(a));
        assert_true(paid_ns > NS_PER_S && paid_ns < 2 * NS_PER_S);
        settle(paid_ns + MS);
        assert_true(is_open(a));
}

TEST(tenants_without_a_weight_share_the_remainder)
{
        const struct timeslices_limits third = { .weight = 30 }, none = { 0 },
                                       most = { .weight = 80 };
        int a, b;

        two_tenants(&a, &b);
        timeslices_limit(&timeslices, a, &third);
        timeslices_limit(&timeslices, b, &none);
        settle(0);
        CHECK_EQ(timeslices.tenants[a].weight, 30);
        CHECK_EQ(timeslices.tenants[b].weight, 70);
        const int c = timeslices_add(&timeslices, &none, false, 0);
        settle(1 * MS);
        CHECK_EQ(timeslices.tenants[b].weight, 35);
        CHECK_EQ(timeslices.tenants[c].weight, 35);
        timeslices_limit(&timeslices, b, &most); /* more than there is */
        settle(2 * MS);
        CHECK_EQ(timeslices.tenants[b].weight, 80);
        CHECK_EQ(timeslices.tenants[c].weight, 0); /* counts as 1 */
        timeslices_remove(&timeslices, a, 3 * MS);
        settle(3 * MS);
        CHECK_EQ(timeslices.tenants[c].weight, 20);
}

TEST(timeslices_are_needed_where_a_shared_gpu_is_limited)
{
        const struct timeslices_limits none = { 0 }, capped = { .cap_ns_per_s = 64 * MS };
        int a, b;

        two_tenants(&a, &b);
        timeslices_limit(&timeslices, a, &none);
        assert_true(timeslices_are_needed(&timeslices));
        timeslices_limit(&timeslices, b, &none);
        assert_false(timeslices_are_needed(&timeslices));
        timeslices_limit(&timeslices, a, &capped);
        assert_true(timeslices_are_needed(&timeslices));
        timeslices.is_off = true;
        assert_false(timeslices_are_needed(&timeslices));
        timeslices.is_off = false;
        timeslices_remove(&timeslices, b, MS);
        assert_false(timeslices_are_needed(&timeslices));
}

TEST(timeslices_are_needed_where_resident_sets_do_not_fit)
{
        const struct timeslices_limits none = { 0 };
        int a, b;

        two_tenants(&a, &b);
        timeslices_limit(&timeslices, a, &none);
        timeslices_limit(&timeslices, b, &none);
        say(a, (struct timeslices_report){ .resident_bytes = 750, .movable_bytes = 300 });
        say(b, (struct timeslices_report){ .resident_bytes = 750, .movable_bytes = 600 });
        settle(0);
        assert_false(timeslices_are_needed(&timeslices)); /* nobody knows the GPU's size */
        timeslices.device_bytes = 1600;
        settle(1 * MS);
        assert_false(timeslices_are_needed(&timeslices));
        timeslices.device_bytes = 1000;
        settle(2 * MS);
        assert_true(timeslices_are_needed(&timeslices));
        CHECK_EQ(timeslices_others_bytes(&timeslices, a), 600);
        say(b, (struct timeslices_report){ .resident_bytes = 200, .movable_bytes = 100 });
        settle(3 * MS);
        assert_false(timeslices_are_needed(&timeslices));
        CHECK_EQ(timeslices_others_bytes(&timeslices, a), 100);
}

TEST(no_more_of_a_tenant_can_be_pushed_off_than_is_there)
{
        int a, b;

        two_tenants(&a, &b);
        timeslices.device_bytes = 1000;
        say(b, (struct timeslices_report){ .resident_bytes = 200, .movable_bytes = UINT64_MAX });
        settle(0);
        CHECK_EQ(timeslices_others_bytes(&timeslices, a), 200);
        CHECK_EQ(timeslices_others_bytes(&timeslices, b), 0);
        say(a, (struct timeslices_report){ .resident_bytes = 5000, .movable_bytes = 5000 });
        settle(MS);
        CHECK_EQ(timeslices_others_bytes(&timeslices, b), 1000);
        CHECK_EQ(timeslices_others_bytes(&timeslices, a), 200);
}

TEST(resident_sets_that_do_not_fit_make_timeslices_longer)
{
        int a, b;

        two_tenants(&a, &b);
        timeslices.device_bytes = 1000;
        timeslices.swap_bytes_per_s = 10000;
        say(a, (struct timeslices_report){ .wants = true, .resident_bytes = 750 });
        settle(0);
        CHECK_EQ(timeslices_quantum_ns(&timeslices), 10 * MS);
        say(b, (struct timeslices_report){ .wants = true, .resident_bytes = 750 });
        settle(1 * MS);
        CHECK_EQ(timeslices.swap_ns, 50 * MS);
        CHECK_EQ(timeslices_quantum_ns(&timeslices),
                 450 * MS); /* swapping is a tenth of the whole */
        assert_true(timeslices_grant(&timeslices, a).is_crowded);
        CHECK_EQ(timeslices_grant(&timeslices, a).in_flight_ns, 4 * MS);
}

TEST(without_timeslices_everybody_is_free)
{
        int a, b;

        two_tenants(&a, &b);
        timeslices.is_off = true;
        say(a, active);
        say(b, active);
        settle(0);
        assert_true(timeslices_grant(&timeslices, a).is_free &&
                    timeslices_grant(&timeslices, b).is_free);
}

TEST(those_who_ran_before_drain_before_the_first_timeslice)
{
        timeslices_init(&timeslices, 0);
        const int a = timeslices_add(&timeslices, &any, true, 0);
        const int b = timeslices_add(&timeslices, &any, true, 0);

        say(a, active);
        say(b, waiting);
        settle(1 * MS);
        assert_false(is_open(b));
        say(a, idle);
        settle(2 * MS);
        assert_true(is_open(b));
}

/* It may come again and again. */
TEST(who_comes_with_work_that_ends_in_a_while_is_waited_for_no_longer_than_others)
{
        struct timeslices_report report = active;
        uint64_t now_ns = MS;

        timeslices_init(&timeslices, 0);
        const int b = timeslices_add(&timeslices, &any, false, 0);
        const int a = timeslices_add(&timeslices, &any, true, 0);
        say(b, waiting);
        for (; !is_open(b) && now_ns < 10 * NS_PER_S; now_ns += 4 * MS) {
                report.signs++;
                report.done_ns = now_ns + 100 * NS_PER_S;
                say(a, report);
                settle(now_ns);
        }
        assert_in_range(now_ns, 24 * MS, 48 * MS);
}

int main(void)
{
        return RUN(
                CASE(a_tenant_alone_has_an_endless_time_slice),
                CASE(the_next_has_it_only_when_the_holder_has_drained),
                CASE(an_idle_holder_gives_it_up_at_once),
                CASE(a_holder_that_does_not_drain_is_left_to_the_driver),
                CASE(a_holder_without_a_heartbeat_is_given_up_before_its_deadline),
                CASE(an_unused_time_slice_passes_on),
                CASE(a_tenant_that_wants_and_never_begins_costs_others_nothing),
                CASE(a_tenant_that_comes_back_after_lapses_has_its_time_slices),
                CASE(a_timeslice_begun_and_ended_between_two_steps_is_not_a_lapse),
                CASE(a_latency_tenant_shortens_the_timeslice_of_a_batch_tenant),
                CASE(an_idle_tenant_saves_at_most_two_quanta),
                CASE(a_false_report_is_charged_half_of_the_time_held),
                CASE(a_tenant_in_debt_waits_until_it_is_paid),
                CASE(tenants_without_a_weight_share_the_remainder),
                CASE(timeslices_are_needed_where_a_shared_gpu_is_limited),
                CASE(timeslices_are_needed_where_resident_sets_do_not_fit),
                CASE(no_more_of_a_tenant_can_be_pushed_off_than_is_there),
                CASE(resident_sets_that_do_not_fit_make_timeslices_longer),
                CASE(without_timeslices_everybody_is_free),
                CASE(those_who_ran_before_drain_before_the_first_timeslice),
                CASE(who_comes_with_work_that_ends_in_a_while_is_waited_for_no_longer_than_others));
}
