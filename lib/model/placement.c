/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of a pod on the GPUs of one node. */
#include "placement.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "placement_set.h"

struct search {
        const struct placement_node *node;
        const struct placement_pod *pod;
        struct placement *placement;
        struct placement_use now[PLACEMENT_DEVICES]; /* of the phase that is being placed */
        unsigned order[PLACEMENT_NEEDS];             /* those that run at once, hardest first */
        unsigned order_count;
        unsigned steps;
        bool is_out; /* of steps: every walk stops, nothing is found */
};

struct placement_use placement_use_of(const struct placement_need *need,
                                      const struct placement_device *device)
{
        const uint64_t factor =
                need->is_in_units && device->memory_factor ? device->memory_factor : 1;

        return (struct placement_use){
                .memory_mib = need->memory_mib ? need->memory_mib * factor
                                               : device->memory_mib * need->memory_percent / 100,
                .cores = need->cores,
                .slots = 1,
                .exclusive = need->cores == 100,
        };
}

void placement_use_add(struct placement_use *to, const struct placement_use *more)
{
        to->memory_mib += more->memory_mib;
        to->cores += more->cores;
        to->slots = (uint16_t)(to->slots + more->slots);
        to->exclusive = (uint16_t)(to->exclusive + more->exclusive);
}

void placement_use_take(struct placement_use *from, const struct placement_use *less)
{
        from->memory_mib -= less->memory_mib;
        from->cores -= less->cores;
        from->slots = (uint16_t)(from->slots - less->slots);
        from->exclusive = (uint16_t)(from->exclusive - less->exclusive);
}

void placement_sum_add(struct placement_sum *sum, enum pod_phase phase,
                       const struct placement_use *use)
{
        pod_peak_add(&sum->memory_mib, phase, use->memory_mib);
        pod_peak_add(&sum->cores, phase, use->cores);
        pod_peak_add(&sum->slots, phase, use->slots);
        pod_peak_add(&sum->exclusive, phase, use->exclusive);
}

struct placement_use placement_sum_peak(const struct placement_sum *sum)
{
        return (struct placement_use){
                .memory_mib = pod_peak_of(&sum->memory_mib),
                .cores = (uint32_t)pod_peak_of(&sum->cores),
                .slots = (uint16_t)pod_peak_of(&sum->slots),
                .exclusive = (uint16_t)pod_peak_of(&sum->exclusive),
        };
}

/* What an init container that comes next runs beside. */
static struct placement_use sum_sidecars(const struct placement_sum *sum)
{
        return (struct placement_use){
                .memory_mib = sum->memory_mib.sidecars,
                .cores = (uint32_t)sum->cores.sidecars,
                .slots = (uint16_t)sum->slots.sidecars,
                .exclusive = (uint16_t)sum->exclusive.sidecars,
        };
}

/* Of a GPU that others use, `now` being this pod's own part so far. */
static bool device_fits(const struct placement_device *device, const struct placement_use *now,
                        const struct placement_use *more)
{
        struct placement_use sum = device->used;

        placement_use_add(&sum, now);
        if (sum.exclusive || (more->exclusive && sum.slots))
                return false;
        placement_use_add(&sum, more);
        return sum.memory_mib <= device->memory_mib && sum.cores <= device->cores &&
               sum.slots <= device->slots;
}

static uint64_t devices_that_fit(const struct search *search, const struct placement_need *need)
{
        uint64_t fitting = 0;

        for (unsigned i = 0; i < search->node->device_count; i++) {
                const struct placement_device *device = &search->node->devices[i];
                const struct placement_use more = placement_use_of(need, device);

                if (device->is_usable && search->node->allowed >> i & 1 &&
                    device_fits(device, &search->now[i], &more))
                        fitting |= UINT64_C(1) << i;
        }
        return fitting;
}

static void need_apply(struct search *search, const struct placement_need *need, uint64_t chosen,
                       void (*change)(struct placement_use *, const struct placement_use *))
{
        for (uint64_t left = chosen; left; left &= left - 1) {
                const unsigned i = (unsigned)__builtin_ctzll(left);
                const struct placement_use use = placement_use_of(need, &search->node->devices[i]);

                change(&search->now[i], &use);
        }
}

/* 0…1000: how full a GPU is; what it is ordered by. */
static unsigned device_fullness(const struct search *search, unsigned i)
{
        const struct placement_device *device = &search->node->devices[i];
        struct placement_use sum = device->used;

        placement_use_add(&sum, &search->now[i]);
        const uint64_t memory = device->memory_mib ? sum.memory_mib * 1000 / device->memory_mib : 0;
        const uint64_t cores = device->cores ? sum.cores * UINT64_C(1000) / device->cores : 0;

        return (unsigned)(memory > cores ? memory : cores);
}

static bool concurrent_place(struct search *search, unsigned index);

struct attempt {
        struct search *search;
        unsigned index; /* in the order */
};

static bool attempt_go_on(void *context, uint64_t chosen)
{
        struct attempt *attempt = context;
        struct search *search = attempt->search;
        const unsigned number = search->order[attempt->index];
        const struct placement_need *need = &search->pod->needs[number];

        search->is_out = ++search->steps > PLACEMENT_STEPS;
        if (search->is_out)
                return true;
        need_apply(search, need, chosen, placement_use_add);
        search->placement->chosen[number] = chosen;
        if (concurrent_place(search, attempt->index + 1))
                return true;
        need_apply(search, need, chosen, placement_use_take);
        return false;
}

static struct placement_set_order set_order(const struct search *search)
{
        struct placement_set_order order = {
                .node = search->node,
                .policy = search->pod->policy,
                .topology = search->pod->topology,
        };

        for (unsigned i = 0; i < search->node->device_count; i++)
                order.fullness[i] = device_fullness(search, i);
        return order;
}

static bool concurrent_place(struct search *search, unsigned index)
{
        if (index == search->order_count)
                return true;
        const struct placement_need *need = &search->pod->needs[search->order[index]];
        const struct placement_set_order order = set_order(search);
        struct attempt attempt = { search, index };

        return placement_set_each(&order, devices_that_fit(search, need), need->count,
                                  attempt_go_on, &attempt);
}

/* Hardest first: whole GPUs, then many, then large ones. */
static bool need_is_harder(const struct placement_need *a, const struct placement_need *b)
{
        if ((a->cores == 100) != (b->cores == 100))
                return a->cores == 100;
        if (a->count != b->count)
                return a->count > b->count;
        return a->memory_mib + UINT64_C(100000) * a->memory_percent >
               b->memory_mib + UINT64_C(100000) * b->memory_percent;
}

static void order_make(struct search *search)
{
        for (unsigned i = 0; i < search->pod->need_count; i++) {
                const struct placement_need *need = &search->pod->needs[i];
                unsigned position = search->order_count;

                if (need->phase == POD_INIT || need->count == 0)
                        continue;
                search->order_count++;
                for (; position > 0; position--) {
                        const unsigned before = search->order[position - 1];

                        if (!need_is_harder(need, &search->pod->needs[before]))
                                break;
                        search->order[position] = before;
                }
                search->order[position] = i;
        }
}

static bool first_taken(void *context, uint64_t chosen)
{
        *(uint64_t *)context = chosen;
        return true;
}

/* GPUs that the pod has anyway come first: they look fullest. False: too few GPUs fit. */
static bool init_choose(struct search *search, const struct placement_need *need, uint64_t own,
                        uint64_t *ret_chosen)
{
        struct placement_set_order order = set_order(search);

        for (unsigned c = 0; c < search->node->device_count; c++)
                order.fullness[c] = own >> c & 1 ? 1000 : 0;
        order.policy = PLACEMENT_BINPACK;
        return placement_set_each(&order, devices_that_fit(search, need), need->count, first_taken,
                                  ret_chosen);
}

/* Init containers one by one, beside the sidecars that have begun; then every GPU's peak is known. */
static int init_place(struct search *search)
{
        const unsigned device_count = search->node->device_count;
        struct placement *placement = search->placement;
        struct placement_sum sums[PLACEMENT_DEVICES] = { 0 };
        uint64_t own = 0;

        for (unsigned i = 0; i < search->pod->need_count; i++)
                own |= placement->chosen[i];
        for (unsigned i = 0; i < search->pod->need_count; i++) {
                const struct placement_need *need = &search->pod->needs[i];

                if (need->phase == POD_INIT && need->count) {
                        for (unsigned c = 0; c < device_count; c++)
                                search->now[c] = sum_sidecars(&sums[c]);
                        if (!init_choose(search, need, own, &placement->chosen[i]))
                                return -ENOSPC;
                        own |= placement->chosen[i];
                }
                for (uint64_t left = placement->chosen[i]; left; left &= left - 1) {
                        const unsigned c = (unsigned)__builtin_ctzll(left);
                        const struct placement_use use =
                                placement_use_of(need, &search->node->devices[c]);

                        placement_sum_add(&sums[c], need->phase, &use);
                }
        }
        for (unsigned c = 0; c < device_count; c++)
                placement->peak[c] = placement_sum_peak(&sums[c]);
        return 0;
}

/* Why: for the first need that finds too few GPUs on the node as it stands, else the sum. */
static int full_say(struct search *search, struct err *e)
{
        const struct placement_node *node = search->node;

        memset(search->now, 0, sizeof search->now);
        for (unsigned i = 0; i < search->pod->need_count; i++) {
                const struct placement_need *need = &search->pod->needs[i];
                const unsigned fitting =
                        (unsigned)__builtin_popcountll(devices_that_fit(search, need));

                if (fitting >= need->count)
                        continue;
                if (need->cores == 100)
                        return err_set(e, -ENOSPC, "too few unused GPUs: %u of %u, %u needed",
                                       fitting, node->device_count, need->count);
                if (need->memory_mib)
                        return err_set(e, -ENOSPC,
                                       "too few GPUs with %" PRIu64 " MiB and %u cores free: %u of "
                                       "%u, %u needed",
                                       placement_use_of(need, &node->devices[0]).memory_mib,
                                       need->cores, fitting, node->device_count, need->count);
                return err_set(e, -ENOSPC,
                               "too few GPUs with %u%% of their memory and %u cores free: %u of "
                               "%u, %u needed",
                               need->memory_percent, need->cores, fitting, node->device_count,
                               need->count);
        }
        if (search->pod->topology == PLACEMENT_NUMA_STRICT ||
            search->pod->topology == PLACEMENT_LINK_STRICT)
                return err_set(e, -ENOSPC, "no %s GPUs are free together",
                               search->pod->topology == PLACEMENT_NUMA_STRICT ? "NUMA-local"
                                                                              : "linked");
        return err_set(e, -ENOSPC, "its containers do not fit on the GPUs together");
}

int placement_find(const struct placement_node *node, const struct placement_pod *pod,
                   struct placement *ret_placement, struct err *e)
{
        struct search search = { .node = node, .pod = pod, .placement = ret_placement };

        memset(ret_placement, 0, sizeof *ret_placement);
        order_make(&search);
        const bool is_placed = concurrent_place(&search, 0) && !search.is_out;

        ret_placement->steps = search.steps;
        if (!is_placed || init_place(&search) < 0)
                return full_say(&search, e);
        return 0;
}

unsigned placement_fullness(const struct placement_node *node, const struct placement *placement)
{
        uint64_t memory = 0, memory_all = 0, cores = 0, cores_all = 0;

        for (unsigned i = 0; i < node->device_count; i++) {
                const struct placement_device *device = &node->devices[i];

                if (!device->is_usable)
                        continue;
                memory += device->used.memory_mib + placement->peak[i].memory_mib;
                cores += device->used.cores + placement->peak[i].cores;
                memory_all += device->memory_mib;
                cores_all += device->cores;
        }
        const uint64_t by_memory = memory_all ? memory * 1000 / memory_all : 0;
        const uint64_t by_cores = cores_all ? cores * 1000 / cores_all : 0;

        return (unsigned)(by_memory > by_cores ? by_memory : by_cores);
}

unsigned placement_score(enum placement_policy policy, unsigned fullness, unsigned most)
{
        const unsigned score = fullness * most / PLACEMENT_FULL;

        if (policy == PLACEMENT_ANY)
                return 0;
        return policy == PLACEMENT_SPREAD ? most - score : score;
}
