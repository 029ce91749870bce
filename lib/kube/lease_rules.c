/* SPDX-License-Identifier: Apache-2.0 */
/* Who leads. */
#include "lease_rules.h"

#include <string.h>

#include "clock.h"
#include "str.h"

void lease_rules_init(struct lease_rules *rules, const char *identity,
                      const struct lease_times *times)
{
        *rules = (struct lease_rules){ .times = *times };
        str_copy(rules->identity, sizeof rules->identity, identity);
        rules->times.lasts_ms = times->lasts_ms ?: 15000;
        rules->times.gives_up_ms = times->gives_up_ms ?: 10000;
        rules->times.retry_ms = times->retry_ms ?: 2000;
        rules->times.idle_ms = times->idle_ms ?: 3000;
}

static bool is_past(uint64_t then_ns, uint64_t ms, uint64_t now_ns)
{
        return now_ns >= then_ns + ms * NS_PER_MS;
}

static bool was_asked(const struct lease_rules *rules, uint64_t now_ns)
{
        return rules->asked_ns && !is_past(rules->asked_ns, rules->times.idle_ms, now_ns);
}

static enum lease_act others_see(const struct lease_rules *rules, uint64_t now_ns)
{
        const struct lease_record *seen = &rules->seen;
        const bool is_free = *seen->holder == '\0';
        /* It was given up for somebody: that one comes first. */
        const bool is_anothers = *seen->asked && strcmp(seen->asked, rules->identity) != 0;
        const uint64_t patience_ms = is_free ? 2 * rules->times.retry_ms : seen->lasts_ms;

        if ((is_free && !is_anothers) || is_past(rules->seen_ns, patience_ms, now_ns))
                return LEASE_TAKE;
        return was_asked(rules, now_ns) && strcmp(seen->asked, rules->identity) != 0 ? LEASE_ASK
                                                                                     : LEASE_WAIT;
}

enum lease_act lease_rules_see(struct lease_rules *rules, const struct lease_record *record,
                               uint64_t now_ns)
{
        if (!record) {
                rules->is_ours = false;
                rules->has_seen = false;
                return LEASE_MAKE;
        }
        if (!rules->has_seen || strcmp(rules->seen.version, record->version) != 0)
                rules->seen_ns = now_ns;
        rules->seen = *record;
        rules->has_seen = true;
        if (strcmp(record->holder, rules->identity) != 0) {
                rules->is_ours = false;
                return others_see(rules, now_ns);
        }
        if (*record->asked && strcmp(record->asked, rules->identity) != 0 &&
            !was_asked(rules, now_ns))
                return LEASE_GIVE;
        return LEASE_RENEW;
}

void lease_rules_done(struct lease_rules *rules, enum lease_act act, uint64_t sent_ns)
{
        rules->is_ours = act == LEASE_MAKE || act == LEASE_TAKE || act == LEASE_RENEW;
        if (rules->is_ours)
                rules->renewed_ns = sent_ns;
}

void lease_rules_note_asked(struct lease_rules *rules, uint64_t now_ns)
{
        rules->asked_ns = now_ns;
}

bool lease_rules_leads(const struct lease_rules *rules, uint64_t now_ns)
{
        return rules->is_ours && !is_past(rules->renewed_ns, rules->times.gives_up_ms, now_ns);
}
