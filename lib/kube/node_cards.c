/* [{"id":0,"type":…,"uuid":…,"core":100,"memory":8192,"number":10,"numa":0,"mig":false,…}] */
#include "node_cards.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "str.h"

static bool number_take(const json_t *item, const char *key, int64_t least, int64_t most,
                        int64_t *ret_number)
{
        const json_t *value = json_object_get(item, key);

        *ret_number = json_integer_value(value);
        return json_is_integer(value) && *ret_number >= least && *ret_number <= most;
}

static bool text_take(const json_t *item, const char *key, char *to, size_t to_bytes)
{
        const char *text = json_string_value(json_object_get(item, key));

        if (!text || strlen(text) >= to_bytes)
                return false;
        str_copy(to, to_bytes, text);
        return true;
}

static bool card_take(const json_t *item, struct node_card *ret_card)
{
        int64_t index, memory, cores, slots, numa;

        if (!number_take(item, "id", 0, UINT16_MAX, &index) ||
            !number_take(item, "memory", 0, INT64_C(1) << 40, &memory) ||
            !number_take(item, "core", 0, 100000, &cores) ||
            !number_take(item, "number", 0, UINT16_MAX, &slots) ||
            !number_take(item, "numa", -1, INT16_MAX, &numa) ||
            !text_take(item, "uuid", ret_card->uuid, sizeof ret_card->uuid) ||
            !text_take(item, "type", ret_card->type, sizeof ret_card->type))
                return false;
        ret_card->index = (unsigned)index;
        ret_card->memory_mib = (uint64_t)memory;
        ret_card->cores = (uint32_t)cores;
        ret_card->slots = (uint16_t)slots;
        ret_card->numa = (int16_t)numa;
        ret_card->memory_factor = 1;
        ret_card->is_mig = json_is_true(json_object_get(item, "mig"));
        ret_card->is_healthy = json_is_true(json_object_get(item, "healthy"));
        return true;
}

int node_cards_parse(const char *text, struct vec *ret_cards, struct err *e)
{
        json_t *root = json_loads(text, 0, NULL), *item;
        bool is_good = json_is_array(root);
        size_t i;

        *ret_cards = (struct vec)VEC_OF(struct node_card);
        json_array_foreach(root, i, item)
        {
                struct node_card card = { 0 };

                is_good = is_good && card_take(item, &card) && vec_push(ret_cards, &card) == 0;
        }
        json_decref(root);
        if (is_good)
                return 0;
        vec_done(ret_cards);
        return err_set(e, -EPROTO, "'%.60s…' is no registration of GPUs", text);
}

void node_cards_configure(struct vec *cards, const char *text)
{
        json_t *root = text ? json_loads(text, 0, NULL) : NULL;
        int64_t factor;

        if (number_take(root, "memoryFactor", 1, 1 << 20, &factor))
                for (size_t i = 0; i < cards->count; i++)
                        ((struct node_card *)vec_at(cards, i))->memory_factor = (uint32_t)factor;
        json_decref(root);
}
