/* SPDX-License-Identifier: Apache-2.0 */
/* Who leads: with clocks that only the test turns. */
#include "lease_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "str.h"
#include "unit.h"

#define S NS_PER_S

static struct lease_rules rules_of(const char *identity)
{
        struct lease_rules rules;

        lease_rules_init(&rules, identity, &(struct lease_times){ 0 });
        return rules;
}

static struct lease_record record_of(const char *holder, const char *asked, unsigned version)
{
        struct lease_record record = { .lasts_ms = 15000 };

        snprintf(record.holder, sizeof record.holder, "%s", holder);
        snprintf(record.asked, sizeof record.asked, "%s", asked);
        snprintf(record.version, sizeof record.version, "%u", version);
        return record;
}

TEST(the_first_makes_it_and_renews_it)
{
        struct lease_rules rules = rules_of("a");
        const struct lease_record mine = record_of("a", "", 1);

        CHECK_EQ(lease_rules_see(&rules, NULL, S), LEASE_MAKE);
        CHECK(!lease_rules_leads(&rules, S));
        lease_rules_done(&rules, LEASE_MAKE, S);
        CHECK(lease_rules_leads(&rules, S));
        CHECK_EQ(lease_rules_see(&rules, &mine, 3 * S), LEASE_RENEW);
        CHECK(lease_rules_leads(&rules, 11 * S - 1));
        CHECK(!lease_rules_leads(&rules, 11 * S)); /* it did not arrive */
        lease_rules_done(&rules, LEASE_RENEW, 9 * S);
        CHECK(lease_rules_leads(&rules, 18 * S));
}

TEST(it_is_taken_when_it_has_not_changed_for_as_long_as_it_lasts)
{
        struct lease_rules rules = rules_of("b");
        struct lease_record record = record_of("a", "", 1);

        CHECK_EQ(lease_rules_see(&rules, &record, 100 * S), LEASE_WAIT);
        CHECK_EQ(lease_rules_see(&rules, &record, 110 * S), LEASE_WAIT);
        record = record_of("a", "", 2);
        CHECK_EQ(lease_rules_see(&rules, &record, 114 * S), LEASE_WAIT);
        CHECK_EQ(lease_rules_see(&rules, &record, 128 * S), LEASE_WAIT);
        CHECK_EQ(lease_rules_see(&rules, &record, 129 * S), LEASE_TAKE);
        lease_rules_done(&rules, LEASE_TAKE, 129 * S);
        CHECK(lease_rules_leads(&rules, 130 * S));
        record = record_of("c", "", 3); /* somebody was quicker after all */
        CHECK_EQ(lease_rules_see(&rules, &record, 131 * S), LEASE_WAIT);
        CHECK(!lease_rules_leads(&rules, 131 * S));
}

TEST(a_released_lease_is_free_at_once)
{
        struct lease_rules rules = rules_of("b");
        const struct lease_record record = record_of("", "", 5);

        CHECK_EQ(lease_rules_see(&rules, &record, 100 * S), LEASE_TAKE);
}

TEST(the_lease_goes_to_the_replica_that_is_asked)
{
        struct lease_rules idle = rules_of("a"), busy = rules_of("b"), third = rules_of("c");
        struct lease_record record = record_of("a", "", 1);

        CHECK_EQ(lease_rules_see(&idle, &record, 100 * S), LEASE_RENEW);
        lease_rules_done(&idle, LEASE_RENEW, 100 * S);
        lease_rules_note_asked(&busy, 101 * S);
        CHECK_EQ(lease_rules_see(&busy, &record, 101 * S), LEASE_ASK);
        record = record_of("a", "b", 2);
        lease_rules_note_asked(&idle, 101 * S); /* has work itself: it stays */
        CHECK_EQ(lease_rules_see(&idle, &record, 102 * S), LEASE_RENEW);
        CHECK_EQ(lease_rules_see(&idle, &record, 104 * S), LEASE_GIVE);
        lease_rules_done(&idle, LEASE_GIVE, 104 * S);
        CHECK(!lease_rules_leads(&idle, 104 * S));
        record = record_of("", "b", 3);
        CHECK_EQ(lease_rules_see(&third, &record, 104 * S), LEASE_WAIT);
        CHECK_EQ(lease_rules_see(&busy, &record, 104 * S), LEASE_TAKE);
        /* The one that asked has died meanwhile. */
        CHECK_EQ(lease_rules_see(&third, &record, 108 * S), LEASE_TAKE);
}

enum { REPLICAS = 4, ROUNDS = 300000 };

struct replica {
        struct lease_rules rules;
        uint64_t next_ns; /* when it does something */
        bool is_writing;
        enum lease_act act;
        unsigned version; /* that it read */
        uint64_t sent_ns;
};

/* Writes as the API server lets it: by the version that was read. */
static void replica_write(struct replica *replica, struct lease_record *store, unsigned *version)
{
        replica->is_writing = false;
        if (replica->version != *version)
                return;
        if (replica->act == LEASE_ASK)
                str_copy(store->asked, sizeof store->asked, replica->rules.identity);
        else
                str_copy(store->holder, sizeof store->holder,
                         replica->act == LEASE_GIVE ? "" : replica->rules.identity);
        if (replica->act == LEASE_TAKE)
                *store->asked = '\0';
        snprintf(store->version, sizeof store->version, "%u", ++*version);
        if (random() % 20 == 0) /* it was done, and the answer got lost */
                return;
        if (replica->act != LEASE_ASK)
                lease_rules_done(&replica->rules, replica->act, replica->sent_ns);
}

static void replica_step(struct replica *replica, struct lease_record *store, unsigned *version,
                         uint64_t now_ns)
{
        if (replica->is_writing) {
                replica_write(replica, store, version);
                replica->next_ns = now_ns + 2 * S;
                return;
        }
        if (random() % 3 == 0)
                lease_rules_note_asked(&replica->rules, now_ns);
        replica->act = lease_rules_see(&replica->rules, *version ? store : NULL, now_ns);
        if (replica->act == LEASE_GIVE)
                replica->rules.is_ours = false;
        replica->version = *version;
        replica->sent_ns = now_ns;
        replica->is_writing = replica->act != LEASE_WAIT;
        /* Now and then one sleeps for long: before a write that is then too late, or between. */
        replica->next_ns = now_ns + (uint64_t)(random() % 100) * 20 * NS_PER_MS +
                           (random() % 30 == 0 ? (uint64_t)(random() % 40) * S : 0);
}

/* Delays, lost answers, long sleeps: never two at a time, and nearly always one. */
TEST(never_two_lead)
{
        struct replica replicas[REPLICAS];
        struct lease_record store = record_of("", "", 0);
        unsigned version = 0, led = 0, changes = 0, last = REPLICAS;
        uint64_t now_ns = S;

        srandom(11);
        for (unsigned i = 0; i < REPLICAS; i++) {
                char name[8];

                snprintf(name, sizeof name, "r%u", i);
                replicas[i] = (struct replica){ .rules = rules_of(name) };
        }
        for (unsigned round = 0; round < ROUNDS; round++) {
                unsigned leaders = 0;

                now_ns += 50 * NS_PER_MS;
                for (unsigned i = 0; i < REPLICAS; i++) {
                        if (now_ns >= replicas[i].next_ns)
                                replica_step(&replicas[i], &store, &version, now_ns);
                        if (!lease_rules_leads(&replicas[i].rules, now_ns))
                                continue;
                        leaders++;
                        changes += last != i;
                        last = i;
                }
                CHECK(leaders <= 1);
                led += leaders;
        }
        CHECK(led > ROUNDS / 2);
        CHECK(changes > 100);
}

int main(void)
{
        return RUN(CASE(the_first_makes_it_and_renews_it),
                   CASE(it_is_taken_when_it_has_not_changed_for_as_long_as_it_lasts),
                   CASE(a_released_lease_is_free_at_once),
                   CASE(the_lease_goes_to_the_replica_that_is_asked), CASE(never_two_lead));
}
