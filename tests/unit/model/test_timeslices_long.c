/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of timeslices: work longer than they are, and the change of hands before it ends. */
#include "timeslices_case.h"

/* Steps as the arbiter does them while somebody waits. */
static void settle_often(uint64_t from_ns, uint64_t until_ns)
{
        for (uint64_t now_ns = from_ns; now_ns <= until_ns; now_ns += 8 * MS)
                settle(now_ns);
}

TEST(work_whose_end_is_known_is_waited_for_and_paid_for)
{
        struct timeslices_report report = active;
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say_alive(a);
        say(b, waiting);
        report.done_ns = 500 * MS;
        for (uint64_t now_ns = 8 * MS; now_ns < 520 * MS; now_ns += 8 * MS) {
                report.signs++;
                say(a, report);
                settle(now_ns);
                assert_false(is_open(b));
        }
        say(a, waiting); /* that it has used nothing, it says */
        settle(520 * MS);
        assert_true(is_open(b));
        CHECK_EQ(timeslices.tenants[a].lapses, 0);
        CHECK_EQ(timeslices.tenants[a].charged_ns, 516 * MS); /* settled at 8, before it was late */
}

TEST(work_that_is_said_to_end_and_does_not_is_left_to_the_driver)
{
        struct timeslices_report report = active;
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say(b, waiting);
        for (uint64_t now_ns = 8 * MS; !is_open(b) && now_ns < 60 * NS_PER_S; now_ns += 8 * MS) {
                report.signs++;
                report.done_ns = now_ns + 100 * NS_PER_S;
                say(a, report);
                settle(now_ns);
        }
        assert_in_range(timeslices.clock_ns, 6 * NS_PER_S, 6 * NS_PER_S + 60 * MS);
        assert_true(timeslices_grant(&timeslices, a).is_free);
}

/* How long others waited for its work the second time. It says that it ends in a while, and takes that back after so
 * long. */
static uint64_t second_wait_ns(uint64_t take_back_ns)
{
        struct timeslices_report report = active;
        uint64_t now_ns = 0, closed_ns = 0;
        int a, b;

        two_tenants(&a, &b);
        for (unsigned lapses = 0; lapses < 2; lapses++) {
                say(a, waiting);
                say(b, idle);
                for (; !is_open(a); now_ns += 8 * MS)
                        settle(now_ns);
                say(b, waiting);
                for (closed_ns = 0; !is_open(b) && now_ns < 60 * NS_PER_S; now_ns += 8 * MS) {
                        report.signs++;
                        report.done_ns = closed_ns < take_back_ns ? now_ns + 100 * NS_PER_S : 0;
                        say(a, report);
                        settle(now_ns);
                        closed_ns += is_open(a) ? 0 : 8 * MS;
                }
                CHECK_EQ(timeslices.tenants[a].lapses, lapses + 1);
                say(b, active);
                settle(now_ns);
        }
        return closed_ns;
}

/* The second time it says so, nobody believes it. */
TEST(a_tenant_that_announces_a_wrong_end_gets_no_longer_wait_than_others)
{
        assert_in_range(second_wait_ns(UINT64_MAX), 24 * MS, 48 * MS);
}

TEST(nor_does_a_tenant_that_takes_the_end_back)
{
        assert_in_range(second_wait_ns(5 * NS_PER_S), 24 * MS, 48 * MS);
}

TEST(a_process_that_dies_in_long_work_is_not_waited_for)
{
        struct timeslices_report report = active;
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        report.done_ns = 500 * MS;
        report.signs = 1;
        say(a, report);
        say(b, waiting);
        settle_often(8 * MS, 40 * MS);
        assert_true(is_open(b));
        assert_true(timeslices_grant(&timeslices, a).is_free);
}

TEST(a_late_tenant_does_not_take_a_holder_with_long_work_for_dead)
{
        struct timeslices_report report = active;
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        report.done_ns = NS_PER_S;
        report.signs = 1;
        say(a, report);
        settle(MS);
        /* The arbiter sleeps: nobody wants anything. Then somebody does, before the next sign of life. */
        say(b, waiting);
        settle(500 * MS);
        assert_false(timeslices_grant(&timeslices, a).is_free);
        report.signs = 2;
        say(a, report);
        settle_often(508 * MS, 532 * MS);
        assert_false(timeslices_grant(&timeslices, a).is_free);
        assert_false(is_open(b));
}

TEST(a_tenant_that_was_given_up_is_tried_again_ever_less_often)
{
        int a, b;
        unsigned asked = 0;
        bool was_free = true;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say_alive(a);
        say(b, waiting);
        settle_often(10 * MS, 42 * MS);
        assert_true(timeslices_grant(&timeslices, a).is_free);
        for (uint64_t now_ns = 50 * MS; now_ns < 10 * NS_PER_S; now_ns += 8 * MS) {
                say_alive(a);
                settle(now_ns);
                const bool is_free = timeslices_grant(&timeslices, a).is_free;
                if (was_free && !is_free && ++asked == 1)
                        assert_true(now_ns <= 110 * MS);
                was_free = is_free;
        }
        assert_in_range(asked, 10, 14);
}

/* Works while it may, waits while it may not, and gives signs of life. Without time slices it has half of the GPU. */
static void work_a_step(int tenant, uint64_t *busy_ns, uint64_t now_ns)
{
        const bool is_free = timeslices_grant(&timeslices, tenant).is_free;
        struct timeslices_report report = is_open(tenant) || is_free ? active : waiting;

        *busy_ns += is_open(tenant) ? MS : is_free ? MS / 2 : 0;
        report.busy_ns = *busy_ns;
        report.signs = now_ns;
        say(tenant, report);
}

/* Percent of the second that begins a second after a stop of three, when it waited or was at work: until it is
 * asked back a second may pass. */
static unsigned percent_after_a_stop(bool is_at_work)
{
        uint64_t busy_ns[2] = { 0 }, stop_ns = 0, before_ns = 0;
        int a, b;

        two_tenants(&a, &b);
        for (uint64_t now_ns = MS; now_ns < 6 * NS_PER_S; now_ns += MS) {
                if (!stop_ns && now_ns > NS_PER_S && is_open(a) == is_at_work)
                        stop_ns = now_ns;
                if (!stop_ns || now_ns > stop_ns + 3 * NS_PER_S)
                        work_a_step(a, &busy_ns[0], now_ns);
                work_a_step(b, &busy_ns[1], now_ns);
                settle(now_ns);
                if (now_ns < 5 * NS_PER_S)
                        before_ns = busy_ns[0];
        }
        return (unsigned)((busy_ns[0] - before_ns) * 100 / NS_PER_S);
}

TEST(a_tenant_that_was_stopped_is_not_paid_for_its_absence)
{
        assert_in_range(percent_after_a_stop(false), 45, 55);
        assert_in_range(percent_after_a_stop(true), 45, 55);
}

/* The driver let it run beside the other, for less than its part. */
TEST(a_tenant_that_was_given_up_and_worked_is_paid_the_remainder)
{
        struct timeslices_report report = active;
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(MS);
        say_alive(a);
        say(b, waiting);
        settle_often(10 * MS, 52 * MS);
        assert_true(timeslices_grant(&timeslices, a).is_free);
        for (uint64_t now_ns = 53 * MS; now_ns < 3 * NS_PER_S; now_ns += MS) {
                report.signs = now_ns;
                report.busy_ns = now_ns / 4;
                say(a, report);
                report.busy_ns = now_ns / 4 * 3;
                say(b, is_open(b) ? report : waiting);
                settle(now_ns);
        }
        const uint64_t before = timeslices.tenants[a].virtual_time;
        say(a, (struct timeslices_report){ .wants = true, .signs = 1, .busy_ns = 750 * MS });
        settle(3 * NS_PER_S);
        assert_false(timeslices_grant(&timeslices, a).is_free);
        assert_true(timeslices.tenants[a].virtual_time - before < 10 * MS);
}

TEST(a_new_limit_begins_without_what_was_owed_under_the_old_one)
{
        const struct timeslices_limits low = { .weight = 3, .cap_ns_per_s = 30 * MS },
                                       high = { .weight = 80, .cap_ns_per_s = 800 * MS };
        int a, b;

        two_tenants(&a, &b);
        timeslices_limit(&timeslices, a, &low);
        say(a, waiting);
        settle(0);
        say(a, (struct timeslices_report){ .wants = true, .is_active = true, .busy_ns = 0 });
        settle(1 * MS);
        say(a, (struct timeslices_report){ .wants = true, .has_begun = true, .busy_ns = 500 * MS });
        settle(500 * MS);
        assert_true(timeslices.tenants[a].balance_ns < 0);
        timeslices_limit(&timeslices, a, &high);
        settle(501 * MS);
        assert_true(is_open(a));
}

TEST(what_is_earned_while_others_have_the_gpu_is_kept_for_a_while)
{
        const struct timeslices_limits half = { .weight = 50, .cap_ns_per_s = 500 * MS };
        struct timeslices_report report = active;
        int a, b;

        two_tenants(&a, &b);
        timeslices_limit(&timeslices, b, &half);
        say(a, waiting);
        settle(0);
        say(b, waiting);
        for (uint64_t now_ns = 8 * MS; now_ns <= 2000 * MS; now_ns += 8 * MS) {
                report.signs++;
                report.done_ns = 2000 * MS;
                say(a, report);
                settle(now_ns);
        }
        assert_true(timeslices.tenants[b].balance_ns > (int64_t)(1000 * MS));
        say(b, idle);
        settle_often(2008 * MS, 4000 * MS);
        assert_true(timeslices.tenants[b].balance_ns < (int64_t)(100 * MS));
}

/* Alone it makes no step for minutes; what it earned meanwhile counts when others come and go. */
TEST(a_tenant_that_was_alone_owes_nothing_when_another_comes_or_goes)
{
        const struct timeslices_limits part = { .weight = 30, .cap_ns_per_s = 300 * MS },
                                       other = { .weight = 70, .cap_ns_per_s = 700 * MS };
        struct timeslices_report report = active;
        int a, b;

        timeslices_init(&timeslices, 0);
        a = timeslices_add(&timeslices, &part, false, 0);
        say(a, waiting);
        settle(0);
        say(a, report);
        settle(1 * MS);
        b = timeslices_add(&timeslices, &other, true, 10000 * MS);
        report.signs++;
        report.busy_ns = 3000 * MS;
        say(a, report);
        say(b, waiting);
        settle(10000 * MS);
        assert_true(timeslices.tenants[a].balance_ns >= 0);
        say(b, idle);
        settle(10020 * MS);
        timeslices_remove(&timeslices, b, 20020 * MS);
        report.busy_ns += 3000 * MS;
        say(a, report);
        settle(20020 * MS);
        say(a, (struct timeslices_report){ .wants = true, .busy_ns = report.busy_ns });
        settle(20021 * MS);
        assert_true(is_open(a));
        assert_true(timeslices.tenants[a].balance_ns >= 0);
}

/* The holder says at `now_ns` that it submits no more, and when its work should be done. */
static void say_drains(int tenant, uint64_t done_ns)
{
        struct timeslices_report report = active;

        report.signs = timeslices.tenants[tenant].report.signs + 1;
        report.is_draining = true;
        report.done_ns = done_ns;
        say(tenant, report);
}

TEST(the_next_tenant_is_granted_early_and_begins_when_work_ends)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say_alive(a);
        say(b, waiting);
        settle(1 * MS);
        say_drains(a, 10 * MS);
        CHECK_EQ(settle(5 * MS), 6 * MS); /* 4 ms before the end */
        assert_false(is_open(a));
        assert_false(is_open(b));
        settle(6 * MS);
        assert_true(is_open(b));
        CHECK_EQ(timeslices_grant(&timeslices, b).not_before_ns, 10 * MS);
        say_drains(a, 11 * MS); /* it takes a little longer */
        settle(7 * MS);
        CHECK_EQ(timeslices_grant(&timeslices, b).not_before_ns, 11 * MS);
        say_drains(a, NS_PER_S); /* but not for ever */
        settle(8 * MS);
        CHECK_EQ(timeslices_grant(&timeslices, b).not_before_ns, 12 * MS);
        say(a, waiting); /* it is done before that */
        settle(9 * MS);
        CHECK_EQ(timeslices_grant(&timeslices, b).not_before_ns, 0);
        CHECK_EQ(timeslices.tenants[a].held_ns, 9 * MS);
        /* The time slice is as long as it would be, from where it begins. */
        assert_true(timeslices_grant(&timeslices, b).deadline_ns >= 20 * MS);
}

/* Takes its time slice up so long after the other ended; returns how long that lasts. */
static uint64_t timeslice_after(int other, int tenant, uint64_t late_ns)
{
        const uint64_t end_ns = timeslices.clock_ns + 10 * MS;
        struct timeslices_report report = active;

        say_alive(other);
        settle(timeslices.clock_ns);
        say(tenant, waiting);
        while (timeslices.clock_ns < end_ns || is_open(other)) {
                say_alive(other);
                settle(timeslices.clock_ns + MS);
        }
        say(other, waiting);
        settle(timeslices.clock_ns);
        const uint64_t begin_ns = timeslices.clock_ns;
        report.begun_ns = begin_ns + late_ns;
        report.signs = timeslices.tenants[tenant].report.signs + 1;
        say(tenant, report);
        settle(begin_ns + late_ns);
        assert_true(is_open(tenant));
        return timeslices_grant(&timeslices, tenant).deadline_ns - begin_ns;
}

TEST(where_the_host_wakes_threads_late_timeslices_are_longer)
{
        uint64_t length_ns = 0;
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        for (unsigned i = 0; i < 20; i++)
                length_ns = timeslice_after(i % 2 ? b : a, i % 2 ? a : b, 50 * US);
        assert_in_range(length_ns, 5 * MS, 40 * MS);
        for (unsigned i = 0; i < 40; i++)
                length_ns = timeslice_after(i % 2 ? b : a, i % 2 ? a : b, 2 * MS);
        assert_in_range(length_ns, 60 * MS, 200 * MS);
}

TEST(while_one_drains_no_other_is_passed_by)
{
        int a, b;

        two_tenants(&a, &b);
        const int c = timeslices_add(&timeslices, &any, false, 0);
        say(a, waiting);
        settle(0);
        say_alive(a);
        say(b, waiting);
        say(c, waiting);
        settle(1 * MS);
        say_drains(a, 5 * MS);
        settle(2 * MS);
        settle(3 * MS);
        const int second = is_open(b) ? b : c, third = is_open(b) ? c : b;
        assert_true(is_open(second));
        say(second, active);
        settle(5 * MS);
        say_drains(second, 9 * MS);
        settle(6 * MS);
        settle(7 * MS);
        assert_false(is_open(third)); /* the first has not ended yet */
        say(a, idle);
        settle(8 * MS);
        assert_true(is_open(third));
}

TEST(a_tenant_that_overruns_its_announced_end_is_distrusted_for_a_second)
{
        int a, b;

        two_tenants(&a, &b);
        say(a, waiting);
        settle(0);
        say_alive(a);
        say(b, waiting);
        settle(1 * MS);
        say_drains(a, 4 * MS);
        settle(2 * MS);
        assert_true(is_open(b));
        settle(8 * MS);
        say(a, waiting);
        say(b, active);
        settle(9 * MS);
        say(b, waiting);
        for (uint64_t now_ns = 20 * MS; !is_open(a); now_ns += MS)
                settle(now_ns);
        const uint64_t again_ns = timeslices.clock_ns;
        say_alive(a);
        settle(again_ns + MS);
        say_drains(a, again_ns + 4 * MS);
        settle(again_ns + 2 * MS);
        settle(again_ns + 3 * MS);
        assert_false(is_open(a) || is_open(b));
}

int main(void)
{
        return RUN(CASE(work_whose_end_is_known_is_waited_for_and_paid_for),
                   CASE(work_that_is_said_to_end_and_does_not_is_left_to_the_driver),
                   CASE(a_tenant_that_announces_a_wrong_end_gets_no_longer_wait_than_others),
                   CASE(nor_does_a_tenant_that_takes_the_end_back),
                   CASE(a_process_that_dies_in_long_work_is_not_waited_for),
                   CASE(a_late_tenant_does_not_take_a_holder_with_long_work_for_dead),
                   CASE(a_tenant_that_was_given_up_is_tried_again_ever_less_often),
                   CASE(a_tenant_that_was_stopped_is_not_paid_for_its_absence),
                   CASE(a_tenant_that_was_given_up_and_worked_is_paid_the_remainder),
                   CASE(a_new_limit_begins_without_what_was_owed_under_the_old_one),
                   CASE(what_is_earned_while_others_have_the_gpu_is_kept_for_a_while),
                   CASE(a_tenant_that_was_alone_owes_nothing_when_another_comes_or_goes),
                   CASE(the_next_tenant_is_granted_early_and_begins_when_work_ends),
                   CASE(where_the_host_wakes_threads_late_timeslices_are_longer),
                   CASE(while_one_drains_no_other_is_passed_by),
                   CASE(a_tenant_that_overruns_its_announced_end_is_distrusted_for_a_second));
}
