/* No agent: in the place of node_shares.c where vgpu is built without the daemons' libraries. */
#include "node_shares.h"

#include "command.h"

int node_shares_ps(struct table *table, struct json_out *json)
{
        (void)table, (void)json;
        return EXIT_OK;
}

int node_shares_usage(struct vec *usages)
{
        (void)usages;
        return EXIT_OK;
}

int node_shares_set(const char *name, const struct share_memory *memory,
                    const struct share_compute *compute)
{
        (void)name, (void)memory, (void)compute;
        return -1;
}
