/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the rules by which a container is found to hold more than it says, of what is done then and
 * undone, and of what the scheduler is told of raised shares. */
#include "violation.h"

#include <jansson.h>
#include <stdio.h>

#include "book_bench.h"
#include "pod_notes.h"
#include "tenant_throttle.h"

TEST(figures_of_two_moments_may_differ_a_little)
{
        CHECK(!violation_in_memory(100 * MIB, 100 * MIB, 0));
        CHECK(!violation_in_memory(160 * MIB, 100 * MIB, 0));
        CHECK(violation_in_memory(180 * MIB, 100 * MIB, 0));
        CHECK(!violation_in_memory(180 * MIB, 100 * MIB, 50 * MIB));
        CHECK(!violation_in_memory(10500 * MIB, 10000 * MIB, 0));
        CHECK(violation_in_memory(10700 * MIB, 10000 * MIB, 0));
        CHECK(!violation_in_memory(0, 100 * MIB, 0));
        CHECK(!violation_in_compute(0.35, 0.30));
        CHECK(violation_in_compute(0.45, 0.30));
        CHECK(!violation_in_compute(0.98, 0.85));
        CHECK(violation_in_compute(0.2, 0));
}

TEST(what_shows_now_and_then_is_not_certain)
{
        struct violation_record record = { 0 };

        for (int i = 0; i < 99; i++)
                CHECK_EQ(violation_record_add(&record, i % 3 ? 0 : 1u << VIOLATION_MEMORY), 0);
        for (int i = 0; i < 2; i++)
                CHECK_EQ(violation_record_add(&record, 1u << VIOLATION_MEMORY), 0);
        CHECK_EQ(violation_record_add(&record, 1u << VIOLATION_MEMORY), 1u << VIOLATION_MEMORY);
        CHECK_EQ(violation_record_add(&record, 1u << VIOLATION_MEMORY), 0); /* reported already */
        CHECK_EQ(record.counts[VIOLATION_MEMORY], 1);
}

/* Two of three seconds, say. */
TEST(who_gives_back_in_time_for_every_third_sample_is_certain_within_ten)
{
        for (unsigned violation = 0; violation < VIOLATIONS; violation++) {
                struct violation_record record = { 0 };
                unsigned certain = 0;

                for (int i = 0; i < 10; i++)
                        certain |= violation_record_add(&record, i % 3 == 2 ? 0 : 1u << violation);
                CHECK_EQ(certain, 1u << violation);
        }
}

TEST(a_lowered_limit_takes_nothing_away_and_what_was_given_back_stays_so)
{
        CHECK_EQ(violation_allowed_bytes(0, 100, 0), 100);
        CHECK_EQ(violation_allowed_bytes(100, 100, 900), 100);
        CHECK_EQ(violation_allowed_bytes(100, 40, 90), 90); /* lowered */
        CHECK_EQ(violation_allowed_bytes(90, 40, 95), 90);
        CHECK_EQ(violation_allowed_bytes(90, 40, 60), 60);
        CHECK_EQ(violation_allowed_bytes(60, 40, 10), 40);
        CHECK_EQ(violation_allowed_bytes(60, 200, 10), 200); /* raised */
}

static void region_seen_thrice(struct violation_record *record)
{
        for (int i = 0; i < 2; i++)
                CHECK_EQ(violation_record_add(record, 1u << VIOLATION_REGION), 0);
        CHECK_EQ(violation_record_add(record, 1u << VIOLATION_REGION), 1u << VIOLATION_REGION);
}

TEST(it_is_over_after_a_clean_minute_and_may_begin_anew)
{
        struct violation_record record = { 0 };

        for (int i = 0; i < 70; i++) {
                violation_record_add(&record, 0);
                CHECK(!violation_record_is_over(&record)); /* there was nothing */
        }
        region_seen_thrice(&record);
        for (int i = 1; i < 60; i++) {
                violation_record_add(&record, 0);
                CHECK(!violation_record_is_over(&record));
        }
        violation_record_add(&record, 0);
        CHECK(violation_record_is_over(&record));
        region_seen_thrice(&record);
        CHECK_EQ(record.counts[VIOLATION_REGION], 2);
}

TEST(a_throttled_share_gets_back_what_it_had_from_the_next_agent_too)
{
        struct book_bench bench;
        struct err e = { 0 };

        book_bench_open(&bench);
        struct held_share *held = book_bench_put(&bench, "uid", "main", 200, 30);
        tenant_release(bench.book, held); /* nothing to give back */
        CHECK_EQ(book_bench_device(held)->cores_percent, 30);
        tenant_throttle(bench.book, held);
        tenant_throttle(bench.book, held);
        CHECK_EQ(book_bench_device(held)->cores_percent, 1);
        CHECK(book_bench_device(held)->limit_bytes < MIB);
        share_book_close(bench.book);
        CHECK_EQ(share_book_open(bench.folder, "boot", &bench.book, &e), 0);
        held = share_book_find(bench.book, "uid", "main");
        tenant_release(bench.book, held);
        CHECK_EQ(book_bench_device(held)->cores_percent, 30);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 200 * MIB);
        tenant_throttle(bench.book, held);
        struct share_copy other = *share_current(&held->share);
        other.devices[0].limit_bytes = other.devices[0].physical_bytes = 100 * MIB;
        CHECK_EQ(share_book_change(bench.book, held, &other, &e), 0);
        tenant_release(bench.book, held); /* others have decided meanwhile */
        CHECK_EQ(book_bench_device(held)->limit_bytes, 100 * MIB);
        book_bench_close(&bench);
}

TEST(a_decision_is_raised_to_what_the_share_has_and_never_lowered)
{
        struct share_copy copy = { .device_count = 1 };
        json_t *annotations = json_pack(
                "{s:s, s:s}", "vgpu.io/allocation",
                "{\"version\":1,\"pod\":\"u\",\"node\":\"n\",\"containers\":{\"main\":[{\"uuid\":"
                "\"GPU-1\",\"memory\":200,\"cores\":10}],\"side\":[{\"uuid\":\"GPU-1\",\"memory\":"
                "5,"
                "\"cores\":0}]}}",
                "vgpu.io/memory", "200Mi");

        strcpy(copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = 100 * MIB;
        copy.devices[0].cores_percent = 10;
        CHECK(!pod_notes_change(annotations, "main", &copy, NULL, NULL));
        copy.devices[0].limit_bytes = 300 * MIB;
        copy.devices[0].cores_percent = 50;
        CHECK(!pod_notes_change(annotations, "nobody", &copy, NULL, NULL));
        CHECK(pod_notes_change(annotations, "main", &copy, NULL, NULL));
        const char *text = json_string_value(json_object_get(annotations, "vgpu.io/allocation"));
        assert_non_null(strstr(text, "\"memory\":300,\"cores\":50"));
        assert_non_null(strstr(text, "\"memory\":5,\"cores\":0"));
        assert_string_equal(json_string_value(json_object_get(annotations, "vgpu.io/memory")),
                            "300Mi");
        CHECK(!pod_notes_change(annotations, "main", &copy, NULL, NULL));
        json_decref(annotations);
}

/* Of a pod with so much decided for "main" on GPU-1, and 50 cores, that asks for these. */
static json_t *annotations_make(unsigned mib, const char *memory, const char *cores)
{
        char decided[200];

        snprintf(decided, sizeof decided,
                 "{\"version\":1,\"pod\":\"u\",\"node\":\"n\",\"containers\":{\"main\":[{\"uuid\":"
                 "\"GPU-1\",\"memory\":%u,\"cores\":50}]}}",
                 mib);
        return json_pack("{s:s, s:s, s:s*}", "vgpu.io/allocation", decided, "vgpu.io/memory",
                         memory, "vgpu.io/cores", cores);
}

/* Between the change of a share and what is noted of it a user may have changed the pod again. */
TEST(a_request_made_meanwhile_is_kept)
{
        struct share_copy copy = { .device_count = 1 };
        json_t *annotations = annotations_make(500, "450Mi", "40");
        json_t *asked = json_pack("{s:s, s:s}", "vgpu.io/memory", "0.8Gi", "vgpu.io/cores", "40");

        strcpy(copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = 800 * MIB;
        copy.devices[0].cores_percent = 30;
        CHECK(pod_notes_change(annotations, "main", &copy, NULL, asked));
        const char *text = json_string_value(json_object_get(annotations, "vgpu.io/allocation"));
        assert_non_null(strstr(text, "\"memory\":800,\"cores\":50"));
        assert_string_equal(json_string_value(json_object_get(annotations, "vgpu.io/memory")),
                            "450Mi");
        assert_string_equal(json_string_value(json_object_get(annotations, "vgpu.io/cores")), "30");
        json_decref(asked);
        json_decref(annotations);
}

TEST(a_decision_is_cut_to_what_the_share_has_and_never_raised)
{
        struct share_copy copy = { .device_count = 1 };
        const struct share_decided decided = { .limit_bytes = 150 * MIB, .cores_percent = 5 };
        json_t *annotations = annotations_make(300, "300Mi", NULL);

        strcpy(copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = 400 * MIB;
        copy.devices[0].cores_percent = 60;
        CHECK(!pod_notes_change(annotations, "main", &copy, &decided, NULL));
        copy.devices[0].limit_bytes = 200 * MIB;
        copy.devices[0].cores_percent = 10;
        CHECK(pod_notes_change(annotations, "main", &copy, &decided, NULL));
        const char *text = json_string_value(json_object_get(annotations, "vgpu.io/allocation"));
        assert_non_null(strstr(text, "\"memory\":200,\"cores\":10"));
        assert_string_equal(json_string_value(json_object_get(annotations, "vgpu.io/memory")),
                            "200Mi");
        CHECK(!pod_notes_change(annotations, "main", &copy, &decided, NULL));
        json_decref(annotations);
}

TEST(a_share_below_its_allocation_keeps_its_limits_when_the_allocation_is_cut)
{
        struct share_copy copy = { .device_count = 1 };
        const struct share_decided decided = { .limit_bytes = 500 * MIB, .cores_percent = 50 };
        json_t *annotations = annotations_make(800, "5000Mi", "40");

        strcpy(copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = 450 * MIB;
        copy.devices[0].cores_percent = 40;
        CHECK(pod_notes_change(annotations, "main", &copy, &decided, NULL));
        const char *text = json_string_value(json_object_get(annotations, "vgpu.io/allocation"));
        assert_non_null(strstr(text, "\"memory\":500,\"cores\":50"));
        assert_string_equal(json_string_value(json_object_get(annotations, "vgpu.io/memory")),
                            "450Mi");
        assert_string_equal(json_string_value(json_object_get(annotations, "vgpu.io/cores")), "40");
        json_decref(annotations);
}

TEST(throttling_by_an_earlier_agent_ends_after_a_clean_minute)
{
        struct violation_record record = { .is_held_back = true };
        unsigned over = 0;

        for (int i = 0; i < 200; i++) {
                violation_record_add(&record, 0);
                over += violation_record_is_over(&record);
        }
        CHECK_EQ(over, 1);
}

TEST(a_throttled_share_gets_back_what_it_had_after_a_reboot_too)
{
        struct book_bench bench;

        book_bench_open(&bench);
        struct held_share *held = book_bench_put(&bench, "uid", "main", 200, 30);
        tenant_throttle(bench.book, held);
        share_book_close(bench.book);
        CHECK_EQ(share_book_open(bench.folder, "next boot", &bench.book, NULL), 0);
        held = share_book_find(bench.book, "uid", "main");
        CHECK(tenant_is_throttled(share_current(&held->share)));
        tenant_release(bench.book, held);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 200 * MIB);
        CHECK_EQ(book_bench_device(held)->cores_percent, 30);
        book_bench_close(&bench);
}

/* Killed between keeping and throttling, or given new limits since. */
TEST(a_changed_share_can_be_throttled_again)
{
        struct share_copy copy;
        struct book_bench bench;

        book_bench_open(&bench);
        struct held_share *held = book_bench_put(&bench, "uid", "main", 200, 30);
        copy = *share_current(&held->share);
        tenant_throttle(bench.book, held);
        CHECK_EQ(share_book_change(bench.book, held, &copy, NULL), 0);
        tenant_throttle(bench.book, held);
        CHECK(tenant_is_throttled(share_current(&held->share)));
        tenant_release(bench.book, held);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 200 * MIB);
        book_bench_close(&bench);
}

int main(void)
{
        return RUN(CASE(figures_of_two_moments_may_differ_a_little),
                   CASE(what_shows_now_and_then_is_not_certain),
                   CASE(who_gives_back_in_time_for_every_third_sample_is_certain_within_ten),
                   CASE(a_lowered_limit_takes_nothing_away_and_what_was_given_back_stays_so),
                   CASE(it_is_over_after_a_clean_minute_and_may_begin_anew),
                   CASE(throttling_by_an_earlier_agent_ends_after_a_clean_minute),
                   CASE(a_throttled_share_gets_back_what_it_had_from_the_next_agent_too),
                   CASE(a_throttled_share_gets_back_what_it_had_after_a_reboot_too),
                   CASE(a_changed_share_can_be_throttled_again),
                   CASE(a_request_made_meanwhile_is_kept),
                   CASE(a_decision_is_cut_to_what_the_share_has_and_never_raised),
                   CASE(a_share_below_its_allocation_keeps_its_limits_when_the_allocation_is_cut),
                   CASE(a_decision_is_raised_to_what_the_share_has_and_never_lowered));
}
