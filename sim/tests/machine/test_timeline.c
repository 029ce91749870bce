/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the time axis: order, slices, dependencies, death. Time is moved by hand. */
#include "machine_fixture.h"
#include "timeline_internal.h"
#include "unit.h"

#define MS UINT64_C(1000000)

static uint64_t busy_ns(const struct tenant *tenant)
{
        return tenant->machine->file->channels[tenant->channel].busy_ns[ENGINE_COMPUTE];
}

TEST(work_of_one_process_runs_in_order_without_gaps)
{
        struct machine machine;
        struct tenant a;

        fixture_open(&machine, 0, 1);
        fixture_attach(&machine, &a);
        machine_ref first = fixture_submit(&a, ENGINE_COMPUTE, 3 * MS, 0);
        machine_ref second = fixture_submit(&a, ENGINE_COMPUTE, 5 * MS, 0);
        fixture_move(&machine, 20 * MS);
        CHECK_EQ(timeline_end_ns(&machine, first), 3 * MS + 1);
        CHECK_EQ(timeline_end_ns(&machine, second), 8 * MS + 1);
        CHECK_EQ(busy_ns(&a), 8 * MS);
        fixture_kill(&a);
        machine_close(&machine);
}

TEST(nothing_ends_before_its_time)
{
        struct machine machine;
        struct tenant a;

        fixture_open(&machine, 0, 1);
        fixture_attach(&machine, &a);
        machine_ref ref = fixture_submit(&a, ENGINE_COMPUTE, 3 * MS, 0);
        fixture_move(&machine, 3 * MS);
        CHECK_EQ(timeline_end_ns(&machine, ref), 0);
        fixture_move(&machine, 3 * MS + 1);
        CHECK_EQ(timeline_end_ns(&machine, ref), 3 * MS + 1);
        fixture_kill(&a);
        machine_close(&machine);
}

TEST(two_processes_share_by_time_slices_and_each_gets_half)
{
        struct machine machine;
        struct tenant a, b;

        fixture_open(&machine, 0, 1);
        fixture_attach(&machine, &a);
        fixture_attach(&machine, &b);
        machine_ref long_one = fixture_submit(&a, ENGINE_COMPUTE, 100 * MS, 0);
        for (unsigned i = 0; i < 500; i++)
                fixture_submit(&b, ENGINE_COMPUTE, MS / 5, 0);
        fixture_move(&machine, 100 * MS + 1);
        CHECK(busy_ns(&a) >= 48 * MS && busy_ns(&a) <= 52 * MS);
        CHECK_EQ(busy_ns(&a) + busy_ns(&b), 100 * MS);
        fixture_move(&machine, 300 * MS);
        CHECK(timeline_end_ns(&machine, long_one) >= 196 * MS);
        CHECK(timeline_end_ns(&machine, long_one) <= 204 * MS);
        fixture_kill(&a);
        fixture_kill(&b);
        machine_close(&machine);
}

TEST(a_dependency_on_another_engine_is_kept)
{
        struct machine machine;
        struct tenant a;

        fixture_open(&machine, 0, 1);
        fixture_attach(&machine, &a);
        machine_ref copy = fixture_submit(&a, ENGINE_IN, 4 * MS, 0);
        machine_ref kernel = fixture_submit(&a, ENGINE_COMPUTE, 2 * MS, copy);
        machine_ref other = fixture_submit(&a, ENGINE_COMPUTE, 1 * MS, 0);
        machine_ref back = fixture_submit(&a, ENGINE_OUT, 1 * MS, kernel);
        fixture_move(&machine, 20 * MS);
        CHECK_EQ(timeline_end_ns(&machine, other), 1 * MS + 1); /* does not wait behind it */
        CHECK_EQ(timeline_end_ns(&machine, kernel), 6 * MS + 1);
        CHECK_EQ(timeline_end_ns(&machine, back), 7 * MS + 1);
        fixture_kill(&a);
        machine_close(&machine);
}

TEST(work_of_unknown_length_waits_until_its_process_knows)
{
        struct machine machine;
        struct tenant a;

        fixture_open(&machine, 0, 1);
        fixture_attach(&machine, &a);
        machine_ref ref = fixture_submit(&a, ENGINE_COMPUTE, MACHINE_NS_UNKNOWN, 0);
        fixture_move(&machine, 5 * MS);
        CHECK_EQ(timeline_end_ns(&machine, ref), 0);
        timeline_set_duration(&machine, ref, 2 * MS);
        fixture_move(&machine, 20 * MS);
        CHECK_EQ(timeline_end_ns(&machine, ref), 7 * MS);
        fixture_kill(&a);
        machine_close(&machine);
}

TEST(the_dead_take_their_work_along)
{
        struct machine machine;
        struct tenant a, b;

        fixture_open(&machine, 0, 1);
        fixture_attach(&machine, &a);
        fixture_attach(&machine, &b);
        fixture_submit(&a, ENGINE_COMPUTE, 1000 * MS, 0);
        machine_ref ref = fixture_submit(&b, ENGINE_COMPUTE, 10 * MS, 0);
        fixture_move(&machine, 8 * MS + 1);
        uint64_t left = 10 * MS - busy_ns(&b);
        fixture_kill(&a);
        fixture_move(&machine, 40 * MS);
        CHECK(timeline_end_ns(&machine, ref) <= 8 * MS + 1 + left + 2 * MS);
        CHECK_EQ(slot_reap(&machine), 1);
        CHECK_EQ(machine.file->channels[a.channel].slot, 0);
        fixture_kill(&b);
        machine_close(&machine);
}

TEST(the_history_shows_the_load)
{
        struct machine machine;
        struct tenant a;

        fixture_open(&machine, 0, 1);
        fixture_attach(&machine, &a);
        for (unsigned i = 0; i < 10; i++) {
                fixture_move(&machine, (100 * i + 1) * MS);
                fixture_submit(&a, ENGINE_COMPUTE, 30 * MS, 0);
        }
        fixture_move(&machine, 1000 * MS);
        /* Asked by hand: the public call moves the clock to now, which is long past here. */
        CHECK_EQ(busy_ns(&a), 300 * MS);
        double load = timeline_unit_load(&machine, 0, ENGINE_COMPUTE, 1000 * MS);
        CHECK(load > 0.29 && load < 0.31);
        fixture_kill(&a);
        machine_close(&machine);
}

TEST(a_step_cut_short_is_finished_by_the_next)
{
        struct machine machine;
        struct machine_unit *unit;

        fixture_open(&machine, 0, 1);
        unit = machine_unit(&machine, 0);
        unit->journal.words[0].offset = (uint64_t)((char *)&unit->clock_ns - (char *)machine.file);
        unit->journal.words[0].value = 77;
        unit->journal.count = 1;
        timeline_lock(&machine, 0);
        CHECK_EQ(unit->clock_ns, 77);
        CHECK_EQ(unit->journal.count, 0);
        timeline_unlock(&machine, 0);
        machine_close(&machine);
}

TEST(a_full_queue_knows_whose_entry_it_takes_next)
{
        struct machine machine;
        struct tenant a;
        machine_ref first = 0;

        fixture_open(&machine, 0, 1);
        fixture_attach(&machine, &a);
        for (unsigned i = 0; i < MACHINE_RING; i++) {
                machine_ref ref = fixture_submit(&a, ENGINE_COMPUTE, 1000, 0);
                first = i ? first : ref;
        }
        CHECK(!timeline_has_capacity(&machine, a.channel, ENGINE_COMPUTE));
        CHECK_EQ(timeline_victim(&machine, a.channel, ENGINE_COMPUTE), first);
        fixture_move(&machine, 1 * MS);
        CHECK(timeline_has_capacity(&machine, a.channel, ENGINE_COMPUTE));
        fixture_kill(&a);
        machine_close(&machine);
}

int main(void)
{
        return RUN(CASE(work_of_one_process_runs_in_order_without_gaps),
                   CASE(nothing_ends_before_its_time),
                   CASE(two_processes_share_by_time_slices_and_each_gets_half),
                   CASE(a_dependency_on_another_engine_is_kept),
                   CASE(work_of_unknown_length_waits_until_its_process_knows),
                   CASE(the_dead_take_their_work_along), CASE(the_history_shows_the_load),
                   CASE(a_step_cut_short_is_finished_by_the_next),
                   CASE(a_full_queue_knows_whose_entry_it_takes_next));
}
