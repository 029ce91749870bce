/* The plugins, kept in step with the list of offers. */
#include "offers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offer_list.h"
#include "vec.h"

struct offers {
        struct loop *loop;
        const struct node_options *options;
        struct pre_start *pre_start;
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

static int offer_add(struct offers *offers, const struct offer *offer)
{
        struct plugin *plugin;
        int r = plugin_new(offers->loop, offers->options->plugin_path, offer, offers->pre_start,
                           &plugin);

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

int offers_update(struct offers *offers, const struct gpu_set *set)
{
        struct vec list;
        int r = offer_list_make(set, offers->options, &list);

        if (r < 0)
                return r;
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

void offers_look(struct offers *offers)
{
        for (size_t i = 0; i < offers->plugins.count; i++)
                plugin_look(plugin_at(offers, i));
}

void offers_each(const struct offers *offers,
                 void (*visit)(void *owner, const struct plugin_state *state), void *owner)
{
        for (size_t i = 0; i < offers->plugins.count; i++) {
                const struct plugin_state state = plugin_state(plugin_at(offers, i));

                visit(owner, &state);
        }
}

int offers_new(struct loop *loop, const struct node_options *options, struct pre_start *pre_start,
               struct offers **ret_offers)
{
        struct offers *offers = calloc(1, sizeof *offers);

        if (!offers)
                return -ENOMEM;
        *offers = (struct offers){ .loop = loop,
                                   .options = options,
                                   .pre_start = pre_start,
                                   .plugins = VEC_OF(struct plugin *) };
        *ret_offers = offers;
        return 0;
}

void offers_free(struct offers *offers)
{
        if (!offers)
                return;
        for (size_t i = 0; i < offers->plugins.count; i++)
                plugin_free(plugin_at(offers, i));
        vec_done(&offers->plugins);
        free(offers);
}
