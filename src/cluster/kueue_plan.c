/* SPDX-License-Identifier: Apache-2.0 */
/* What Kueue must be told: gathered from nodes and names. */
#include "kueue_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "json_read.h"
#include "kueue_rows.h"
#include "node_devices.h"
#include "str.h"

void kueue_plan_init(struct kueue_plan *plan)
{
        *plan = (struct kueue_plan){ .flavor = "default",
                                     .cluster_queue = "gpu-cluster-queue",
                                     .local_queue = "gpu-queue",
                                     .namespace_name = "default",
                                     .version = "v1beta2",
                                     .names = { .item_bytes = KUEUE_NAME },
                                     .totals = VEC_OF(struct kueue_total) };
}

void kueue_plan_done(struct kueue_plan *plan)
{
        vec_done(&plan->names);
        vec_done(&plan->totals);
}

static int names_compare(const void *a, const void *b)
{
        return strcmp(a, b);
}

static int name_note(struct kueue_plan *plan, const char *name)
{
        char item[KUEUE_NAME];

        for (size_t i = 0; i < plan->names.count; i++)
                if (strcmp(vec_at(&plan->names, i), name) == 0)
                        return 0;
        memset(item, 0, sizeof item);
        str_copy(item, sizeof item, name);
        const int r = vec_push(&plan->names, item);

        if (r == 0)
                qsort(plan->names.items, plan->names.count, KUEUE_NAME, names_compare);
        return r;
}

int kueue_plan_add_name(struct kueue_plan *plan, const char *name, struct err *e)
{
        struct resource resource;

        if (strlen(name) >= KUEUE_NAME || !resource_find(name, true, &resource))
                return err_set(e, -EINVAL,
                               "'%.100s' is no resource of GPUs (examples: nvidia.com/vgpu, "
                               "nvidia.com/mig-1g.5gb)",
                               name);
        return name_note(plan, name) < 0 ? err_set(e, -ENOMEM, "out of memory") : 0;
}

bool kueue_plan_name_at(const struct kueue_plan *plan, size_t index, const char **ret_name,
                        struct resource *ret_resource)
{
        *ret_name = vec_at(&plan->names, index);
        return *ret_name && resource_find(*ret_name, true, ret_resource);
}

static struct kueue_total *total_take(struct kueue_plan *plan, const char *name)
{
        struct kueue_total fresh = { 0 };

        for (size_t i = 0; i < plan->totals.count; i++) {
                struct kueue_total *total = vec_at(&plan->totals, i);

                if (strcmp(total->name, name) == 0)
                        return total;
        }
        str_copy(fresh.name, sizeof fresh.name, name);
        return vec_push(&plan->totals, &fresh) == 0 ? vec_at(&plan->totals, plan->totals.count - 1)
                                                    : NULL;
}

static int total_add(struct kueue_plan *plan, const char *name, int64_t amount)
{
        struct kueue_total *total = total_take(plan, name);

        if (!total)
                return -ENOMEM;
        if (!total->is_given && __builtin_add_overflow(total->amount, amount, &total->amount))
                total->amount = INT64_MAX;
        return 0;
}

/* A quantity in thousandths: "1900m", "2". */
static int milli_parse(const char *text, int64_t *ret_milli, struct err *e)
{
        const size_t length = strlen(text);
        char digits[32];
        int64_t whole;
        int r;

        if (length > 1 && length < sizeof digits && text[length - 1] == 'm') {
                str_copy(digits, length, text);
                return amount_parse(digits, ret_milli, e);
        }
        r = amount_parse(text, &whole, e);
        if (r == 0 && __builtin_mul_overflow(whole, INT64_C(1000), ret_milli))
                r = err_set(e, -ERANGE, "'%.60s' is too large", text);
        return r;
}

static int amount_of(const char *name, const char *text, int64_t *ret_amount, struct err *e)
{
        return strcmp(name, "cpu") == 0 ? milli_parse(text, ret_amount, e)
                                        : amount_parse(text, ret_amount, e);
}

int kueue_plan_set_quota(struct kueue_plan *plan, const char *text, struct err *e)
{
        const char *equals = strchr(text, '=');
        char name[KUEUE_NAME];
        struct kueue_total *total;
        int64_t amount;

        if (!equals || equals == text || (size_t)(equals - text) >= sizeof name)
                return err_set(e, -EINVAL, "--quota is NAME=AMOUNT, such as %s=50; not '%.100s'",
                               KUEUE_MEMORY_UNITS, text);
        str_copy(name, (size_t)(equals - text) + 1, text);
        if (amount_of(name, equals + 1, &amount, e) < 0)
                return err_context(e, -EINVAL, name);
        total = total_take(plan, name);
        if (!total)
                return err_set(e, -ENOMEM, "out of memory");
        total->amount = amount;
        total->is_given = true;
        return 0;
}

/* What one node has, of which its aliases tell more than once. */
struct node_sums {
        int64_t number, units, memory_mib, cores;
        struct {
                struct mig_profile profile;
                int64_t count;
        } profiles[32];
        unsigned profile_count;
        bool has_gpus;
};

static void profile_note(struct node_sums *sums, const struct mig_profile *profile, int64_t count)
{
        unsigned i = 0;

        while (i < sums->profile_count &&
               !mig_profile_is_equal(&sums->profiles[i].profile, profile))
                i++;
        if (i == sizeof sums->profiles / sizeof sums->profiles[0])
                return;
        if (i == sums->profile_count)
                sums->profiles[sums->profile_count++].profile = *profile;
        if (count > sums->profiles[i].count)
                sums->profiles[i].count = count;
}

static void resource_note(struct node_sums *sums, const struct resource *resource, int64_t amount)
{
        sums->has_gpus |= amount > 0;
        if (resource->kind == RESOURCE_COUNT && amount > sums->number)
                sums->number = amount;
        else if (resource->kind == RESOURCE_MEMORY_UNITS)
                sums->units = amount;
        else if (resource->kind == RESOURCE_MIG)
                profile_note(sums, &resource->profile, amount);
}

static int allocatable_note(struct kueue_plan *plan, const json_t *allocatable,
                            struct node_sums *sums)
{
        const char *name;
        json_t *value;

        json_object_foreach ((json_t *)allocatable, name, value) {
                const char *text = json_string_value(value);
                struct resource resource;
                int64_t amount;

                if (!text || !resource_find(name, false, &resource) ||
                    amount_parse(text, &amount, NULL) < 0)
                        continue;
                resource_note(sums, &resource, amount);
                if (amount > 0 && name_note(plan, name) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static void devices_note(const json_t *node, struct node_sums *sums)
{
        const char *text = json_read_annotation(node, "nvidia.com/node-device-register");
        struct vec devices;

        if (!text || node_devices_parse(text, &devices, NULL) < 0)
                return;
        for (size_t i = 0; i < devices.count; i++) {
                const struct node_device *device = vec_at(&devices, i);

                if (device->is_mig)
                        continue;
                sums->memory_mib += (int64_t)device->memory_mib;
                sums->cores += device->cores;
        }
        vec_done(&devices);
}

/* A node that does not advertise GB has those of its profiles. */
static int64_t units_of(const struct node_sums *sums)
{
        int64_t units = 0;

        for (unsigned i = 0; i < sums->profile_count; i++)
                units += sums->profiles[i].count * sums->profiles[i].profile.memory_gb;
        return sums->units ? sums->units : units;
}

int kueue_plan_add_node(struct kueue_plan *plan, const json_t *node)
{
        const json_t *allocatable = json_object_get(json_object_get(node, "status"), "allocatable");
        static const char *const plain[] = { "cpu", "memory" };
        struct node_sums sums = { 0 };
        int r = allocatable_note(plan, allocatable, &sums);

        if (r < 0 || !sums.has_gpus)
                return r;
        devices_note(node, &sums);
        const struct {
                const char *name;
                int64_t amount;
        } rows[] = { { KUEUE_MEMORY_UNITS, units_of(&sums) },
                     { KUEUE_TOTAL_NUMBER, sums.number },
                     { KUEUE_TOTAL_MEMORY, sums.memory_mib },
                     { KUEUE_TOTAL_CORES, sums.cores } };

        for (unsigned i = 0; i < sizeof plain / sizeof plain[0] && r == 0; i++) {
                const char *text = json_read_text_or_null(allocatable, plain[i]);
                int64_t amount;

                if (text && amount_of(plain[i], text, &amount, NULL) == 0)
                        r = total_add(plan, plain[i], amount);
        }
        for (unsigned i = 0; i < sizeof rows / sizeof rows[0] && r == 0; i++)
                if (rows[i].amount > 0)
                        r = total_add(plan, rows[i].name, rows[i].amount);
        return r;
}

int kueue_plan_check(const struct kueue_plan *plan, struct err *e)
{
        struct kueue_rows rows;

        if (plan->names.count == 0)
                return err_set(e, -ENODATA,
                               "no node has GPUs to queue for; name what pods ask for with "
                               "--resource");
        kueue_rows_read(plan, &rows);
        for (unsigned i = 0; i < rows.covered_count; i++)
                if (!kueue_rows_total(plan, rows.covered[i]))
                        return err_set(e, -ENODATA,
                                       "no node says how much %s there is to give; missing --quota "
                                       "%s=AMOUNT",
                                       rows.covered[i], rows.covered[i]);
        return 0;
}
