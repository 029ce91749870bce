/* SPDX-License-Identifier: Apache-2.0 */
/* lease_rules: who leads, by what stands in a Lease and by our own clock. Pure: the time is a parameter.
 *
 * As client-go does it: nobody compares clocks. Whoever does not hold the lease watches whether it changes,
 * and takes it when it has not for as long as it says; whoever holds it renews it, and stops leading when it
 * could not for a while that is shorter. Besides, the lease goes to whoever is asked for work: a replica that
 * is asked and does not lead says so in the lease, and a holder whom nobody asks gives it up. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { LEASE_IDENTITY = 256 };

struct lease_times {          /* all in ms; zero takes the default */
        unsigned lasts_ms;    /* from the last renewal on (15 s) */
        unsigned gives_up_ms; /* without a renewal it does not lead any more (10 s) */
        unsigned retry_ms;    /* between checks (2 s) */
        unsigned idle_ms;     /* a holder whom nobody has asked for so long gives way (3 s) */
};

struct lease_record {                /* as it stands in the API server */
        char holder[LEASE_IDENTITY]; /* "": nobody */
        char asked[LEASE_IDENTITY];  /* who would like it; "": nobody */
        char version[64];            /* another after each change */
        unsigned lasts_ms;
};

enum lease_act {
        LEASE_WAIT,
        LEASE_MAKE,  /* there is none */
        LEASE_TAKE,  /* it is free */
        LEASE_RENEW, /* it is ours */
        LEASE_ASK,   /* it is another's: say that we would like it */
        LEASE_GIVE,  /* it is ours, and another would do more with it */
};

struct lease_rules { /* zeroed but for identity and times */
        char identity[LEASE_IDENTITY];
        struct lease_times times;
        struct lease_record seen;
        bool has_seen, is_ours;
        uint64_t seen_ns;    /* when it changed last */
        uint64_t renewed_ns; /* when our last renewal that arrived was sent */
        uint64_t asked_ns;   /* when we were asked for work last; 0: never */
};

void lease_rules_init(struct lease_rules *rules, const char *identity,
                      const struct lease_times *times);

/* What to do about the record as it was read (NULL: there is none). */
enum lease_act lease_rules_see(struct lease_rules *rules, const struct lease_record *record,
                               uint64_t now_ns);
/* What was sent then has arrived: we hold it, or gave it away. */
void lease_rules_done(struct lease_rules *rules, enum lease_act act, uint64_t sent_ns);

/* Somebody asks us for work. */
void lease_rules_note_asked(struct lease_rules *rules, uint64_t now_ns);
bool lease_rules_leads(const struct lease_rules *rules, uint64_t now_ns);
