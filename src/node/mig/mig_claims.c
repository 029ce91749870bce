/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and the names under which they are held. */
#include "mig_claims.h"

#include <errno.h>
#include <string.h>

#include "str.h"

struct mig_claim {
        char id[64];
        char resource[128];
        uint64_t taken_ns;
        bool is_listed; /* in the list that is being read */
};

void mig_claims_init(struct mig_claims *claims)
{
        claims->items = (struct vec)VEC_OF(struct mig_claim);
}

void mig_claims_done(struct mig_claims *claims)
{
        vec_done(&claims->items);
}

static struct mig_claim *find(const struct mig_claims *claims, const char *id)
{
        for (size_t i = 0; i < claims->items.count; i++) {
                struct mig_claim *claim = vec_at(&claims->items, i);

                if (strcmp(claim->id, id) == 0)
                        return claim;
        }
        return NULL;
}

const char *mig_claims_holder(const struct mig_claims *claims, const char *id)
{
        const struct mig_claim *claim = find(claims, id);

        return claim ? claim->resource : NULL;
}

int mig_claims_take(struct mig_claims *claims, const char *id, const char *resource,
                    uint64_t now_ns)
{
        struct mig_claim fresh = { 0 }, *claim = find(claims, id);
        const bool is_new = !claim;

        claim = is_new ? &fresh : claim;
        claim->taken_ns = now_ns;
        claim->is_listed = true;
        str_copy(claim->id, sizeof claim->id, id);
        str_copy(claim->resource, sizeof claim->resource, resource);
        return is_new ? vec_push(&claims->items, &fresh) : 0;
}

/* The first who is listed keeps it: kubelet lists one only, unless all was lost. */
static int note(struct mig_claims *claims, const char *id, const char *resource, uint64_t now_ns)
{
        struct mig_claim *claim = find(claims, id);

        if (claim) {
                claim->is_listed |= strcmp(claim->resource, resource) == 0;
                return 0;
        }
        return mig_claims_take(claims, id, resource, now_ns) < 0 ? -ENOMEM : 1;
}

static int note_container(struct mig_claims *claims, const V1__ContainerResources *container,
                          uint64_t now_ns)
{
        int r = 0;

        for (size_t i = 0; i < container->n_devices && r >= 0; i++) {
                const V1__ContainerDevices *devices = container->devices[i];

                for (size_t j = 0; j < devices->n_device_ids && r >= 0; j++) {
                        int noted = 0;

                        if (str_starts_with(devices->device_ids[j], "MIG-"))
                                noted = note(claims, devices->device_ids[j], devices->resource_name,
                                             now_ns);
                        r = noted < 0 ? noted : r | noted;
                }
        }
        return r;
}

static int remove_unlisted(struct mig_claims *claims, uint64_t now_ns)
{
        int r = 0;

        for (size_t i = claims->items.count; i-- > 0;) {
                const struct mig_claim *claim = vec_at(&claims->items, i);

                if (claim->is_listed || now_ns - claim->taken_ns < MIG_CLAIM_GRACE_NS)
                        continue;
                vec_remove(&claims->items, i);
                r = 1;
        }
        return r;
}

int mig_claims_refresh(struct mig_claims *claims, const V1__ListPodResourcesResponse *list,
                       uint64_t now_ns)
{
        int r = 0;

        for (size_t i = 0; i < claims->items.count; i++)
                ((struct mig_claim *)vec_at(&claims->items, i))->is_listed = false;
        for (size_t i = 0; i < list->n_pod_resources && r >= 0; i++) {
                const V1__PodResources *pod = list->pod_resources[i];

                for (size_t j = 0; j < pod->n_containers && r >= 0; j++) {
                        const int noted = note_container(claims, pod->containers[j], now_ns);

                        r = noted < 0 ? noted : r | noted;
                }
        }
        return r < 0 ? r : r | remove_unlisted(claims, now_ns);
}
