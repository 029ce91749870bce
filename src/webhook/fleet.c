/* The largest card of the cluster. */
#include "fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "kube_watch.h"
#include "list.h"
#include "log.h"
#include "node_cards.h"

struct fleet_node {
        struct hash_link link;
        uint64_t largest_mib;
        char name[];
};

struct fleet {
        struct kube_watch *watch;
        struct hash nodes; /* with cards */
        uint64_t largest_mib;
        bool is_troubled; /* said so already */
        void (*on_change)(void *owner, uint64_t largest_mib);
        void *owner;
};

static uint64_t cards_largest(const json_t *node)
{
        const char *text = json_string_value(
                json_object_get(json_object_get(json_object_get(node, "metadata"), "annotations"),
                                "nvidia.com/node-device-register"));
        uint64_t largest = 0;
        struct vec cards;

        if (!text || node_cards_parse(text, &cards, NULL) < 0)
                return 0;
        for (size_t i = 0; i < cards.count; i++) {
                const struct node_card *card = vec_at(&cards, i);

                if (card->memory_mib > largest)
                        largest = card->memory_mib;
        }
        vec_done(&cards);
        return largest;
}

static void node_forget(struct fleet *fleet, const char *name)
{
        struct hash_link *link = hash_find(&fleet->nodes, name);

        if (!link)
                return;
        hash_remove(&fleet->nodes, link);
        free(container_of(link, struct fleet_node, link));
}

static void node_note(struct fleet *fleet, const char *name, uint64_t largest_mib)
{
        struct hash_link *link = hash_find(&fleet->nodes, name);
        struct fleet_node *node = link ? container_of(link, struct fleet_node, link) : NULL;
        const size_t length = strlen(name) + 1;

        if (!node) {
                node = calloc(1, sizeof *node + length);
                if (!node)
                        return;
                memcpy(node->name, name, length);
                if (hash_add(&fleet->nodes, &node->link, node->name) < 0) {
                        free(node);
                        return;
                }
        }
        node->largest_mib = largest_mib;
}

static void largest_visit(void *owner, struct hash_link *link)
{
        uint64_t *largest_mib = owner;
        const uint64_t mib = container_of(link, struct fleet_node, link)->largest_mib;

        *largest_mib = mib > *largest_mib ? mib : *largest_mib;
}

static uint64_t node_largest(const struct fleet *fleet, const char *name)
{
        const struct hash_link *link = hash_find(&fleet->nodes, name);

        return link ? container_of(link, struct fleet_node, link)->largest_mib : 0;
}

static void on_node(void *owner, enum kube_change change, const struct kube_name *name,
                    const json_t *object)
{
        struct fleet *fleet = owner;
        const uint64_t mib = change == KUBE_DELETED ? 0 : cards_largest(object);
        const uint64_t before = node_largest(fleet, name->name);
        uint64_t largest_mib = 0;

        fleet->is_troubled = false;
        if (mib == before)
                return;
        if (mib)
                node_note(fleet, name->name, mib);
        else
                node_forget(fleet, name->name);
        if (mib < fleet->largest_mib && before < fleet->largest_mib)
                return; /* another node has the largest */
        hash_each(&fleet->nodes, largest_visit, &largest_mib);
        fleet->largest_mib = largest_mib;
        fleet->on_change(fleet->owner, largest_mib);
}

static void on_trouble(void *owner, const struct err *e)
{
        struct fleet *fleet = owner;

        if (!fleet->is_troubled)
                log_warn("nodes are out of sight, nobody is warned of requests that are too "
                         "large: %s",
                         e->text);
        fleet->is_troubled = true;
}

int fleet_new(struct kube_client *client, void (*on_change)(void *owner, uint64_t largest_mib),
              void *owner, struct fleet **ret_fleet)
{
        struct fleet *fleet = calloc(1, sizeof *fleet);
        const struct kube_watch_options options = { .path = "/api/v1/nodes",
                                                    .on_change = on_node,
                                                    .on_trouble = on_trouble,
                                                    .owner = fleet };

        if (!fleet)
                return -ENOMEM;
        fleet->on_change = on_change;
        fleet->owner = owner;
        if (kube_watch_new(client, &options, &fleet->watch) < 0) {
                free(fleet);
                return -ENOMEM;
        }
        *ret_fleet = fleet;
        return 0;
}

void fleet_free(struct fleet *fleet)
{
        struct hash_link *link;

        if (!fleet)
                return;
        kube_watch_free(fleet->watch);
        while ((link = hash_any(&fleet->nodes)))
                node_forget(fleet, link->key);
        hash_done(&fleet->nodes);
        free(fleet);
}
