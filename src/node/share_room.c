/* The room on a card is what it has, scaled, less what the others' limits add up to. */
#include "share_room.h"

#include <errno.h>
#include <string.h>

#include "quantity.h"
#include "tenant_throttle.h"

struct summing {
        const struct held_share *except;
        const char *except_pod; /* NULL: none */
        const char *uuid;
        struct share_room_use use;
};

static const struct gpu *gpu_find(const struct share_room *room, const char *uuid)
{
        for (unsigned i = 0; i < room->set.count; i++)
                if (strcmp(room->set.gpus[i].uuid, uuid) == 0)
                        return &room->set.gpus[i];
        return NULL;
}

static void sum_share(void *owner, struct held_share *held)
{
        struct summing *summing = owner;
        const struct share_copy *copy = share_current(&held->share);
        const struct share_device *devices = copy->devices;
        const int device = share_find_device(copy, summing->uuid);
        struct share_device kept[SHARE_DEVICES];

        if (held == summing->except || held->is_going || device < 0 ||
            (summing->except_pod && strcmp(held->pod_uid, summing->except_pod) == 0))
                return;
        if (tenant_is_throttled(copy) && tenant_kept(held, kept))
                devices = kept; /* nobody else grows into what it gets back */
        const uint64_t limit = devices[device].limit_bytes;

        if (limit != SHARE_UNLIMITED)
                summing->use.memory_bytes += limit;
        summing->use.cores_percent += devices[device].cores_percent;
}

void share_room_others(const struct share_room *room, const struct held_share *except,
                       const char *uuid, struct share_room_use *ret_use)
{
        struct summing summing = { .except = except, .uuid = uuid };

        share_book_each(room->book, sum_share, &summing);
        *ret_use = summing.use;
}

static int ceiling_check(const struct share_device *now, const struct share_device *wanted,
                         struct err *e)
{
        char text[QUANTITY_TEXT_BYTES];

        if (now->limit_max_bytes && wanted->limit_bytes > now->limit_max_bytes &&
            wanted->limit_bytes > now->limit_bytes) {
                quantity_format_bytes(now->limit_max_bytes, text);
                return err_set(e, -ERANGE, "its memory may grow to %s and no further", text);
        }
        if (now->cores_ceiling_percent && wanted->cores_percent > now->cores_ceiling_percent &&
            wanted->cores_percent > now->cores_percent)
                return err_set(e, -ERANGE, "its compute may grow to %u %% and no further",
                               now->cores_ceiling_percent);
        return 0;
}

static int memory_check(const struct gpu *gpu, const struct share_room *room, uint64_t others,
                        uint64_t wanted, struct err *e)
{
        const uint64_t all = (uint64_t)((double)gpu->memory_bytes * room->memory_scaling);
        const uint64_t left = all > others ? all - others : 0;
        char wanted_text[QUANTITY_TEXT_BYTES], left_text[QUANTITY_TEXT_BYTES];

        if (wanted <= left)
                return 0;
        quantity_format_bytes(wanted, wanted_text);
        quantity_format_bytes(left, left_text);
        return err_set(e, -ENOSPC, "GPU %u has no room for %s: other shares leave %s of it",
                       gpu->index, wanted_text, left_text);
}

static int cores_check(const struct gpu *gpu, const struct share_room *room, unsigned others,
                       unsigned wanted, struct err *e)
{
        if (others + wanted <= 100 * room->cores_scaling)
                return 0;
        return err_set(e, -ENOSPC,
                       "GPU %u has no room for %u %% of its time: other shares have %u %%",
                       gpu->index, wanted, others);
}

int share_room_admits(const struct share_room *room, const struct share_copy *wanted, struct err *e)
{
        int r = 0;

        for (unsigned i = 0; i < wanted->device_count && r == 0; i++) {
                const struct share_device *device = &wanted->devices[i];
                struct summing summing = { .except_pod = wanted->pod_uid, .uuid = device->uuid };
                const struct gpu *gpu = gpu_find(room, device->uuid);

                if (!gpu)
                        continue; /* a part of a card, which is nobody else's */
                share_book_each(room->book, sum_share, &summing);
                r = memory_check(gpu, room, summing.use.memory_bytes, device->limit_bytes, e);
                if (r == 0)
                        r = cores_check(gpu, room, summing.use.cores_percent, device->cores_percent,
                                        e);
        }
        return r;
}

static int device_fits(const struct share_room *room, const struct held_share *held,
                       const struct share_device *now, const struct share_device *wanted,
                       struct err *e)
{
        const bool is_larger = wanted->limit_bytes > now->limit_bytes;
        /* No limit of compute at all is not more than one that others' limits leave. */
        const bool is_faster = now->cores_percent && wanted->cores_percent > now->cores_percent;
        const struct gpu *gpu = gpu_find(room, now->uuid);
        struct share_room_use others;
        int r = 0;

        if (!is_larger && !is_faster)
                return 0;
        if (!gpu)
                return err_set(e, -ENOSPC, "the driver does not tell of GPU '%.47s'", now->uuid);
        share_room_others(room, held, now->uuid, &others);
        if (is_larger)
                r = memory_check(gpu, room, others.memory_bytes, wanted->limit_bytes, e);
        if (r == 0 && is_faster)
                r = cores_check(gpu, room, others.cores_percent, wanted->cores_percent, e);
        return r;
}

int share_room_fits(const struct share_room *room, const struct held_share *held,
                    const struct share_copy *wanted, struct err *e)
{
        const struct share_copy *now = share_current(&held->share);
        int r = 0;

        for (unsigned i = 0; i < now->device_count && i < wanted->device_count && r == 0; i++)
                r = device_fits(room, held, &now->devices[i], &wanted->devices[i], e);
        return r;
}

int share_room_check(const struct share_room *room, const struct held_share *held,
                     const struct share_copy *wanted, struct err *e)
{
        const struct share_copy *now = share_current(&held->share);
        int r = 0;

        for (unsigned i = 0; i < now->device_count && i < wanted->device_count && r == 0; i++)
                r = ceiling_check(&now->devices[i], &wanted->devices[i], e);
        return r < 0 ? r : share_room_fits(room, held, wanted, e);
}
