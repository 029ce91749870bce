/* SPDX-License-Identifier: Apache-2.0 */
/* The plugins, kept in step with the list of offers. */
#include "offers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "list.h"
#include "mig_claims.h"
#include "offer_list.h"
#include "offered_check.h"
#include "vec.h"

enum { CLAIMS_MS = 10000 };

struct offers {
        struct loop *loop;
        const struct node_options *options;
        struct offers_peers peers;
        struct mig_claims claims;
        struct gpu_set set;         /* as last published */
        struct loop_task republish; /* the claims are others now */
        struct timer
                claims_timer; /* while MIG devices are offered: what does kubelet hold of them? */
        bool is_listing;
        struct offered_check *check;
        struct vec plugins; /* of struct plugin * */
};

static struct plugin *plugin_at(const struct offers *offers, size_t index)
{
        return *(struct plugin **)vec_at(&offers->plugins, index);
}

static struct plugin *plugin_find(const struct offers *offers, const char *resource)
{
        for (size_t i = 0; i < offers->plugins.count; i++)
                if (strcmp(plugin_resource(plugin_at(offers, i)), resource) == 0)
                        return plugin_at(offers, i);
        return NULL;
}

/* Later: whoever claims is about to answer. */
static void on_taken(void *owner)
{
        struct offers *offers = owner;

        loop_defer(offers->loop, &offers->republish);
}

static int offer_add(struct offers *offers, const struct offer *offer)
{
        const struct plugin_counsel counsel = { .pre_start = offers->peers.pre_start,
                                                .starts = offers->peers.starts,
                                                .claims = &offers->claims,
                                                .on_taken = on_taken,
                                                .owner = offers };
        struct plugin *plugin;
        int r = plugin_new(offers->loop, offers->options->plugin_path, offer, &counsel, &plugin);

        if (r < 0)
                return r;
        r = vec_push(&offers->plugins, &plugin);
        if (r < 0)
                plugin_free(plugin);
        return r;
}

static bool is_offered(const struct vec *list, const char *resource)
{
        for (size_t i = 0; i < list->count; i++)
                if (strcmp(((struct offer *)vec_at(list, i))->resource, resource) == 0)
                        return true;
        return false;
}

static void remove_gone(struct offers *offers, const struct vec *list)
{
        for (size_t i = offers->plugins.count; i-- > 0;) {
                struct plugin *plugin = plugin_at(offers, i);

                if (is_offered(list, plugin_resource(plugin)))
                        continue;
                vec_remove(&offers->plugins, i);
                plugin_free(plugin);
        }
}

static int publish(struct offers *offers)
{
        struct vec list;
        int r = offer_list_make(&offers->set, offers->options, &list);

        if (r < 0)
                return r;
        offer_list_withhold(&list, &offers->claims);
        remove_gone(offers, &list);
        for (size_t i = 0; i < list.count && r == 0; i++) {
                const struct offer *offer = vec_at(&list, i);
                struct plugin *plugin = plugin_find(offers, offer->resource);

                if (plugin)
                        plugin_set_offer(plugin, offer);
                else
                        r = offer_add(offers, offer);
        }
        offer_list_done(&list);
        return r;
}

static void on_republish(struct loop_task *task)
{
        publish(container_of(task, struct offers, republish));
}

static void on_list(void *owner, const V1__ListPodResourcesResponse *list, const char *text)
{
        struct offers *offers = owner;

        (void)text;
        offers->is_listing = false;
        if (list && mig_claims_refresh(&offers->claims, list, clock_now_ns()) != 0)
                publish(offers);
}

/* Nobody reports devices that are free again. */
static void on_claims_due(struct timer *timer)
{
        struct offers *offers = container_of(timer, struct offers, claims_timer);

        if (offers->set.part_count == 0)
                return;
        if (!offers->is_listing)
                offers->is_listing =
                        pod_resources_list(offers->peers.pod_resources, on_list, offers) == 0;
        loop_timer_set(offers->loop, &offers->claims_timer, CLAIMS_MS * NS_PER_MS);
}

int offers_update(struct offers *offers, const struct gpu_set *set)
{
        offers->set = *set;
        if (offers->peers.pod_resources && set->part_count > 0 && !offers->claims_timer.is_set)
                on_claims_due(&offers->claims_timer);
        return publish(offers);
}

void offers_check(struct offers *offers)
{
        for (size_t i = 0; i < offers->plugins.count; i++)
                plugin_check(plugin_at(offers, i));
}

static void on_offered(void *owner, const V1__AllocatableResourcesResponse *offered)
{
        const struct offers *offers = owner;

        for (size_t i = 0; i < offers->plugins.count; i++)
                if (!offered_check_has(offered, plugin_resource(plugin_at(offers, i))))
                        plugin_found_empty(plugin_at(offers, i));
}

void offers_each(const struct offers *offers,
                 void (*visit)(void *owner, const struct plugin_state *state), void *owner)
{
        for (size_t i = 0; i < offers->plugins.count; i++) {
                const struct plugin_state state = plugin_state(plugin_at(offers, i));

                visit(owner, &state);
        }
}

int offers_new(struct loop *loop, const struct node_options *options,
               const struct offers_peers *peers, struct offers **ret_offers)
{
        struct offers *offers = calloc(1, sizeof *offers);

        if (!offers)
                return -ENOMEM;
        *offers = (struct offers){ .loop = loop,
                                   .options = options,
                                   .peers = *peers,
                                   .republish = { .run = on_republish },
                                   .claims_timer = { .on_due = on_claims_due },
                                   .plugins = VEC_OF(struct plugin *) };
        mig_claims_init(&offers->claims);
        const int r = offered_check_new(loop, options->pod_resources, on_offered, offers,
                                        &offers->check);
        if (r < 0)
                offers_free(offers);
        else
                *ret_offers = offers;
        return r;
}

void offers_free(struct offers *offers)
{
        if (!offers)
                return;
        offered_check_free(offers->check);
        for (size_t i = 0; i < offers->plugins.count; i++)
                plugin_free(plugin_at(offers, i));
        vec_done(&offers->plugins);
        if (offers->peers.pod_resources)
                pod_resources_forget(offers->peers.pod_resources, offers);
        loop_timer_clear(offers->loop, &offers->claims_timer);
        mig_claims_done(&offers->claims);
        free(offers);
}
