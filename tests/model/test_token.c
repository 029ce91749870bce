/* SPDX-License-Identifier: Apache-2.0 */
/* test_token TENANTS FAILING [moving]: every state that the token can get into, in every order of steps: no two ever
 * hold it, and whoever waits can get on without anybody's failure. `moving`: memory changes hands with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "token.h"

enum { NONE = -1 };

struct explorer {
        unsigned tenants;
        bool moves;
        int failing; /* tenants that are killed and stopped; the arbiter always is */
        struct token *states;
        int32_t *parents; /* how it was first reached */
        size_t count, capacity;
        int32_t *table; /* by hash: index + 1 */
        size_t table_size;
};

static uint64_t token_hash(const struct token *token)
{
        const unsigned char *bytes = (const unsigned char *)token;
        uint64_t hash = UINT64_C(14695981039346656037);

        for (size_t i = 0; i < sizeof *token; i++)
                hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
        return hash ^ hash >> 29;
}

static void *grow(void *memory, size_t bytes)
{
        memory = realloc(memory, bytes);
        if (!memory) {
                printf("Bail out! out of memory\n");
                exit(2);
        }
        return memory;
}

static size_t table_index(const struct explorer *explorer, const struct token *token)
{
        size_t index = token_hash(token) & (explorer->table_size - 1);

        while (explorer->table[index] &&
               memcmp(&explorer->states[explorer->table[index] - 1], token, sizeof *token) != 0)
                index = (index + 1) & (explorer->table_size - 1);
        return index;
}

static void table_grow(struct explorer *explorer)
{
        explorer->table_size = explorer->table_size ? explorer->table_size * 2 : 1 << 16;
        explorer->table = grow(explorer->table, explorer->table_size * sizeof *explorer->table);
        memset(explorer->table, 0, explorer->table_size * sizeof *explorer->table);
        for (size_t i = 0; i < explorer->count; i++)
                explorer->table[table_index(explorer, &explorer->states[i])] = (int32_t)i + 1;
}

/* The index of the state, new or known. */
static size_t explorer_add(struct explorer *explorer, const struct token *token, int32_t parent)
{
        if (explorer->count * 2 >= explorer->table_size)
                table_grow(explorer);
        const size_t index = table_index(explorer, token);
        if (explorer->table[index])
                return (size_t)explorer->table[index] - 1;
        if (explorer->count == explorer->capacity) {
                explorer->capacity = explorer->capacity ? explorer->capacity * 2 : 1 << 15;
                explorer->states =
                        grow(explorer->states, explorer->capacity * sizeof *explorer->states);
                explorer->parents =
                        grow(explorer->parents, explorer->capacity * sizeof *explorer->parents);
        }
        explorer->states[explorer->count] = *token;
        explorer->parents[explorer->count] = parent;
        explorer->table[index] = (int32_t)++explorer->count;
        return explorer->count - 1;
}

static void way_print(const struct explorer *explorer, size_t index)
{
        for (int32_t i = (int32_t)index; i != NONE; i = explorer->parents[i])
                token_print(&explorer->states[i], explorer->tenants);
}

static void explore(struct explorer *explorer)
{
        struct token token, next[TOKEN_SUCCESSORS];

        token_init(&token, explorer->tenants, explorer->moves);
        explorer_add(explorer, &token, NONE);
        for (size_t i = 0; i < explorer->count; i++) {
                token = explorer->states[i];
                const unsigned count =
                        token_next(&token, explorer->tenants, explorer->failing, next);
                for (unsigned j = 0; j < count; j++)
                        explorer_add(explorer, &next[j], (int32_t)i);
        }
}

static bool check_double(const struct explorer *explorer)
{
        for (size_t i = 0; i < explorer->count; i++)
                if (token_is_double(&explorer->states[i], explorer->tenants)) {
                        way_print(explorer, i);
                        return false;
                }
        return true;
}

/* Backwards from the states in which the tenant runs, by steps that are nobody's failure. */
static bool check_progress(struct explorer *explorer, unsigned tenant)
{
        bool *can = calloc(explorer->count, sizeof *can);
        struct token next[TOKEN_SUCCESSORS];
        bool has_changed = true, is_good = true;

        for (size_t i = 0; i < explorer->count; i++)
                can[i] = token_runs(&explorer->states[i], tenant);
        while (has_changed) {
                has_changed = false;
                for (size_t i = explorer->count; i-- > 0;) {
                        if (can[i])
                                continue;
                        const struct token token = explorer->states[i];
                        const unsigned count =
                                token_next(&token, explorer->tenants, TOKEN_NOBODY_FAILS, next);
                        for (unsigned j = 0; j < count && !can[i]; j++)
                                can[i] = can[explorer_add(explorer, &next[j], NONE)];
                        has_changed |= can[i];
                }
        }
        for (size_t i = 0; i < explorer->count && is_good; i++)
                if (token_waits(&explorer->states[i], tenant) && !can[i]) {
                        way_print(explorer, i);
                        is_good = false;
                }
        free(can);
        return is_good;
}

int main(int argc, char **argv)
{
        struct explorer explorer = { .tenants = argc >= 3 ? (unsigned)atoi(argv[1]) : 0,
                                     .failing = argc >= 3 ? atoi(argv[2]) : 0,
                                     .moves = argc == 4 && strcmp(argv[3], "moving") == 0 };
        bool is_good = true, can_go_on = true;

        if (argc != 3 + explorer.moves || explorer.tenants < 1 ||
            explorer.tenants > TOKEN_TENANTS_MOST) {
                fprintf(stderr, "Usage: test_token TENANTS FAILING [moving]\n");
                return 2;
        }
        explore(&explorer);
        printf("# %u tenants: %zu states\n", explorer.tenants, explorer.count);
        is_good = check_double(&explorer);
        printf("%s 1 - no two tenants hold the token%s\n", is_good ? "ok" : "not ok",
               explorer.moves ? ", nor has another work left while memory changes hands" : "");
        for (unsigned i = 0; i < explorer.tenants; i++)
                can_go_on &= check_progress(&explorer, i);
        printf("%s 2 - a tenant that waits can get on\n1..2\n", can_go_on ? "ok" : "not ok");
        free(explorer.states);
        free(explorer.parents);
        free(explorer.table);
        return is_good && can_go_on ? 0 : 1;
}
