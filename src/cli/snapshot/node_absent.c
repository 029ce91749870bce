/* SPDX-License-Identifier: Apache-2.0 */
/* No agent: in the place of node_shares.c where vgpu is built without the daemons' libraries. */
#include "node_shares.h"

void node_shares_add(struct snapshot *snapshot)
{
        (void)snapshot;
}

int node_shares_set(const char *name, const struct share_memory *memory,
                    const struct share_compute *compute, struct share_view *ret_share)
{
        (void)name, (void)memory, (void)compute, (void)ret_share;
        return -1;
}
