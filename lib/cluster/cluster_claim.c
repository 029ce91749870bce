/* Room that is kept, and whom it is kept from. */
#include "cluster_claim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cluster_internal.h"
#include "cluster_number.h"
#include "list.h"
#include "str.h"

enum { GUARDED_S = 10, DOUBLINGS_MOST = 2 };

struct cluster_claim *cluster_claim_find(const struct cluster *cluster, const char *uid)
{
        struct hash_link *link = hash_find(&cluster->claims, uid);

        return link ? container_of(link, struct cluster_claim, link) : NULL;
}

static void charges_fill(struct cluster_claim *claim, const struct placement *placement)
{
        for (size_t i = 0; i < claim->node->cards.count; i++) {
                const struct node_card *card = vec_at(&claim->node->cards, i);
                struct cluster_charge *charge = &claim->charges[claim->charge_count];

                if (placement->peak[i].slots == 0)
                        continue;
                str_copy(charge->uuid, sizeof charge->uuid, card->uuid);
                charge->use = placement->peak[i];
                claim->charge_count++;
        }
}

int cluster_claim_set(struct cluster *cluster, const struct who *who, const char *node_name,
                      const struct placement *placement, uint64_t now_ns)
{
        struct cluster_node *node = cluster_node_take(cluster, node_name);
        struct cluster_claim *claim =
                node ? calloc(1, sizeof *claim + node->cards.count * sizeof claim->charges[0])
                     : NULL;

        if (!claim)
                return -ENOMEM;
        cluster_claim_drop(cluster, who->uid);
        claim->node = node;
        claim->priority = who->priority;
        claim->offered_ns = now_ns;
        str_copy(claim->uid, sizeof claim->uid, who->uid);
        charges_fill(claim, placement);
        if (hash_add(&cluster->claims, &claim->link, claim->uid) < 0) {
                free(claim);
                return -ENOMEM;
        }
        claim->next = node->claims;
        node->claims = claim;
        cluster_node_touch(cluster, node);
        return 0;
}

void cluster_claim_drop(struct cluster *cluster, const char *uid)
{
        struct cluster_claim *claim = cluster_claim_find(cluster, uid), **at;

        if (!claim)
                return;
        hash_remove(&cluster->claims, &claim->link);
        for (at = &claim->node->claims; *at != claim; at = &(*at)->next)
                ;
        *at = claim->next;
        cluster_node_touch(cluster, claim->node);
        cluster_node_free_if_unused(cluster, claim->node);
        free(claim);
}

void cluster_claims_add(const struct cluster_node *node, int32_t priority, const char *uid,
                        struct placement_card *cards)
{
        for (const struct cluster_claim *claim = node->claims; claim; claim = claim->next) {
                if (claim->priority < priority || (uid && strcmp(claim->uid, uid) == 0))
                        continue;
                for (unsigned i = 0; i < claim->charge_count; i++) {
                        const int card = cluster_card_find(node, claim->charges[i].uuid);

                        if (card >= 0)
                                placement_use_add(&cards[card].used, &claim->charges[i].use);
                }
        }
}

void cluster_pod_inherit(struct cluster_pod *pod, const struct cluster_pod *older)
{
        if (!older)
                return;
        pod->is_leaving = older->is_leaving;
        pod->priority = older->priority;
        pod->started_s = older->started_s;
        pod->guarded_ns = older->guarded_ns;
        pod->refusals = older->refusals;
}

void cluster_pod_describe(struct cluster *cluster, const struct who *who)
{
        struct cluster_pod *pod = cluster_pod_change(cluster, who->uid);
        const size_t first = strlen(who->namespace_name) + 1, second = strlen(who->name) + 1;
        char *names = pod ? malloc(first + second) : NULL;

        if (!names)
                return;
        memcpy(names, who->namespace_name, first);
        memcpy(names + first, who->name, second);
        free(pod->names);
        pod->names = names;
        pod->priority = who->priority;
        if (!cluster->has_priority || who->priority < cluster->lowest_priority)
                cluster->lowest_priority = who->priority;
        cluster->has_priority = true;
        pod->started_s = who->started_s;
        pod->is_leaving = pod->is_leaving || who->is_leaving; /* there is no way back */
}

void cluster_pod_guard(struct cluster *cluster, const char *uid, uint64_t now_ns)
{
        struct cluster_pod *pod = cluster_pod_change(cluster, uid);

        if (!pod)
                return;
        pod->guarded_ns = now_ns + (GUARDED_S * NS_PER_S << pod->refusals);
        if (pod->refusals < DOUBLINGS_MOST)
                pod->refusals++;
}

void cluster_pod_leave(struct cluster *cluster, const char *uid)
{
        struct cluster_pod *pod = cluster_pod_change(cluster, uid);

        if (pod)
                pod->is_leaving = true;
}
