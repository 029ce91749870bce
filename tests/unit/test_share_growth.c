/* Tests of what shares add up to on a card, and of growth that gives way to pods that are placed. */
#include "share_growth.h"

#include <errno.h>

#include "book_bench.h"
#include "tenant_throttle.h"

#define A "00000000-0000-4000-8000-00000000000a"
#define B "00000000-0000-4000-8000-00000000000b"
#define C "00000000-0000-4000-8000-00000000000c"

struct card {
        struct book_bench bench;
        struct share_room room;
        struct seen_pods pods;
        unsigned cuts;
        uint64_t memory_bytes;
        unsigned cores_percent;
};

/* 1000 MiB. */
static void card_open(struct card *card)
{
        *card = (struct card){ 0 };
        book_bench_open(&card->bench);
        card->room = (struct share_room){ .book = card->bench.book,
                                          .memory_scaling = 1,
                                          .cores_scaling = 1,
                                          .set = { .count = 1 },
                                          .pods = &card->pods,
                                          .is_told = true };
        strcpy(card->room.set.gpus[0].uuid, "GPU-1");
        card->room.set.gpus[0].memory_bytes = 1000 * MIB;
}

static void card_close(struct card *card)
{
        seen_pods_done(&card->pods);
        book_bench_close(&card->bench);
}

static void grow(struct card *card, struct held_share *held, uint64_t limit_mib, unsigned cores)
{
        struct share_copy copy = *share_current(&held->share);

        copy.devices[0].limit_bytes = copy.devices[0].physical_bytes = limit_mib * MIB;
        copy.devices[0].limit_max_bytes = 1000 * MIB;
        copy.devices[0].cores_ceiling_percent = 100;
        copy.devices[0].cores_percent = cores;
        CHECK_EQ(share_book_change(card->bench.book, held, &copy, NULL), 0);
}

static struct share_copy wish(const char *uid, const char *container, uint64_t limit_mib,
                              unsigned cores)
{
        struct share_copy copy = { .device_count = 1 };

        snprintf(copy.pod_uid, sizeof copy.pod_uid, "%s", uid);
        snprintf(copy.container, sizeof copy.container, "%s", container);
        snprintf(copy.devices[0].uuid, sizeof copy.devices[0].uuid, "GPU-1");
        copy.devices[0].limit_bytes = limit_mib * MIB;
        copy.devices[0].cores_percent = cores;
        return copy;
}

static void on_cut(void *owner, const struct share_growth_cut *cut)
{
        struct card *card = owner;

        card->cuts++;
        card->memory_bytes += cut->memory_bytes;
        card->cores_percent += cut->cores_percent;
}

static uint64_t mib_of(const struct held_share *held)
{
        return book_bench_device(held)->limit_bytes / MIB;
}

TEST(growth_gives_way_to_a_pod_that_was_placed_by_as_much_as_it_lacks)
{
        struct card card;

        card_open(&card);
        struct held_share *held = book_bench_put(&card.bench, A, "main", 200, 10);
        grow(&card, held, 900, 95);
        const struct share_copy placed = wish(B, "main", 300, 20);
        CHECK_EQ(share_room_admits(&card.room, &placed, NULL), -ENOSPC);
        share_growth_yield(&card.room, &placed, on_cut, &card);
        CHECK_EQ(share_room_admits(&card.room, &placed, NULL), 0);
        CHECK_EQ(mib_of(held), 700);
        CHECK_EQ(book_bench_device(held)->physical_bytes, 700 * MIB);
        CHECK_EQ(book_bench_device(held)->cores_percent, 80);
        CHECK_EQ(card.cuts, 2);
        CHECK_EQ(card.memory_bytes, 200 * MIB);
        CHECK_EQ(card.cores_percent, 15);
        card_close(&card);
}

TEST(the_largest_growth_goes_first_and_what_was_decided_never)
{
        struct card card;

        card_open(&card);
        struct held_share *small = book_bench_put(&card.bench, A, "main", 200, 0);
        struct held_share *large = book_bench_put(&card.bench, B, "main", 200, 0);
        grow(&card, small, 300, 0);
        grow(&card, large, 600, 0);
        const struct share_copy placed = wish(C, "main", 550, 0);
        share_growth_yield(&card.room, &placed, on_cut, &card);
        CHECK_EQ(mib_of(large), 200);
        CHECK_EQ(mib_of(small), 250);
        const struct share_copy more = wish(C, "main", 700, 0);
        share_growth_yield(&card.room, &more, on_cut, &card);
        CHECK_EQ(mib_of(large), 200);
        CHECK_EQ(mib_of(small), 200);
        CHECK_EQ(share_room_admits(&card.room, &more, NULL), -ENOSPC);
        card_close(&card);
}

TEST(an_agent_that_was_started_again_knows_what_was_decided)
{
        struct card card;

        card_open(&card);
        grow(&card, book_bench_put(&card.bench, A, "main", 200, 0), 900, 0);
        share_book_close(card.bench.book);
        CHECK_EQ(share_book_open(card.bench.folder, "boot", &card.bench.book, NULL), 0);
        card.room.book = card.bench.book;
        const struct share_copy placed = wish(B, "main", 800, 0);
        share_growth_yield(&card.room, &placed, on_cut, &card);
        CHECK_EQ(mib_of(share_book_find(card.bench.book, A, "main")), 200);
        card_close(&card);
}

TEST(when_all_pods_were_told_of_cards_that_are_too_full_are_settled)
{
        struct card card;

        card_open(&card);
        struct held_share *held = book_bench_put(&card.bench, A, "main", 200, 0);
        book_bench_put(&card.bench, B, "main", 600, 0);
        grow(&card, held, 500, 0);
        share_growth_yield(&card.room, NULL, on_cut, &card);
        CHECK_EQ(mib_of(held), 400);
        share_growth_yield(&card.room, NULL, on_cut, &card);
        CHECK_EQ(card.cuts, 1);
        card_close(&card);
}

TEST(what_a_throttled_share_grew_by_does_not_come_back)
{
        struct card card;

        card_open(&card);
        struct held_share *held = book_bench_put(&card.bench, A, "main", 200, 10);
        grow(&card, held, 900, 10);
        tenant_throttle(card.bench.book, held);
        const struct share_copy placed = wish(B, "main", 500, 0);
        share_growth_yield(&card.room, &placed, on_cut, &card);
        CHECK_EQ(book_bench_device(held)->limit_bytes, 1);
        tenant_release(card.bench.book, held);
        CHECK_EQ(mib_of(held), 500);
        card_close(&card);
}

TEST(nobody_grows_into_what_was_decided_for_one_that_has_no_share_yet_or_less_at_the_moment)
{
        struct card card;
        struct seen_claim claim = { .container = "main",
                                    .uuid = "GPU-1",
                                    .limit_bytes = 300 * MIB };

        card_open(&card);
        struct held_share *held = book_bench_put(&card.bench, A, "main", 200, 0);
        struct held_share *shrunk = book_bench_put(&card.bench, B, "main", 300, 0);
        grow(&card, shrunk, 100, 0);
        struct seen_pod *waiting = seen_pods_take(&card.pods, C);
        seen_pod_claim(waiting, &claim);
        const struct share_copy too_much = wish(A, "main", 401, 0),
                                enough = wish(A, "main", 400, 0);
        CHECK_EQ(share_room_fits(&card.room, held, &too_much, NULL), -ENOSPC);
        CHECK_EQ(share_room_fits(&card.room, held, &enough, NULL), 0);
        const struct share_copy back = wish(B, "main", 300, 0); /* was decided: its own */
        grow(&card, held, 900, 0);
        CHECK_EQ(share_room_fits(&card.room, shrunk, &back, NULL), 0);
        grow(&card, held, 200, 0);
        seen_pod_clear(waiting, "main");
        CHECK_EQ(share_room_fits(&card.room, held, &too_much, NULL), 0);
        card_close(&card);
}

TEST(an_init_container_and_the_applications_after_it_have_the_same_room)
{
        struct card card;

        card_open(&card);
        struct share_copy init = wish(A, "init", 600, 0), app = wish(A, "main", 500, 0);
        struct share_copy sidecar = wish(A, "side", 300, 0);
        const struct gpu_card page = { 4096 * MIB, 0 };
        struct held_share *held;

        sidecar.phase = SHARE_PHASE_SIDECAR;
        sidecar.place = 0;
        init.phase = SHARE_PHASE_PASSING;
        init.place = 1;
        app.place = 2;
        CHECK_EQ(share_book_make(card.bench.book, &sidecar, &page, &held, NULL), 0);
        CHECK_EQ(share_book_make(card.bench.book, &init, &page, &held, NULL), 0);
        CHECK_EQ(share_room_admits(&card.room, &app, NULL), 0);
        CHECK_EQ(share_book_make(card.bench.book, &app, &page, &held, NULL), 0);
        const struct share_copy beside = wish(B, "main", 100, 0), larger = wish(B, "main", 101, 0);
        CHECK_EQ(share_room_admits(&card.room, &beside, NULL), 0);
        CHECK_EQ(share_room_admits(&card.room, &larger, NULL), -ENOSPC);
        card_close(&card);
}

TEST(before_all_pods_were_told_of_shares_of_unknown_ones_are_in_nobodys_way)
{
        struct card card;

        card_open(&card);
        card.room.is_told = false;
        book_bench_put(&card.bench, A, "main", 800, 0);
        const struct share_copy placed = wish(B, "main", 300, 0);
        CHECK_EQ(share_room_admits(&card.room, &placed, NULL), 0);
        seen_pods_take(&card.pods, A);
        CHECK_EQ(share_room_admits(&card.room, &placed, NULL), -ENOSPC);
        card_close(&card);
}

int main(void)
{
        return RUN(
                CASE(growth_gives_way_to_a_pod_that_was_placed_by_as_much_as_it_lacks),
                CASE(the_largest_growth_goes_first_and_what_was_decided_never),
                CASE(an_agent_that_was_started_again_knows_what_was_decided),
                CASE(when_all_pods_were_told_of_cards_that_are_too_full_are_settled),
                CASE(what_a_throttled_share_grew_by_does_not_come_back),
                CASE(nobody_grows_into_what_was_decided_for_one_that_has_no_share_yet_or_less_at_the_moment),
                CASE(an_init_container_and_the_applications_after_it_have_the_same_room),
                CASE(before_all_pods_were_told_of_shares_of_unknown_ones_are_in_nobodys_way));
}
