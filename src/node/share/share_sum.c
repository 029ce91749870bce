/* SPDX-License-Identifier: Apache-2.0 */
/* A row for each container's part of the GPU; pod by pod, in the order of the pod's containers. */
#include "share_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pod_peak.h"
#include "tenant_throttle.h"
#include "vec.h"

struct row {
        const char *pod_uid;
        uint32_t phase, container_index;
        struct share_sum_use use;
};

struct summing {
        const struct share_sum_question *question;
        struct vec rows; /* of struct row */
        int result;
};

static void use_add(struct share_sum_use *use, const struct share_sum_use *more)
{
        use->memory_bytes += more->memory_bytes;
        use->cores_percent += more->cores_percent;
}

static void use_raise(struct share_sum_use *use, const struct share_sum_use *other)
{
        if (other->memory_bytes > use->memory_bytes)
                use->memory_bytes = other->memory_bytes;
        if (other->cores_percent > use->cores_percent)
                use->cores_percent = other->cores_percent;
}

static struct share_sum_use use_of(const struct share_device *device,
                                   const struct share_decided *decided)
{
        const uint64_t limit = device->limit_bytes;
        struct share_sum_use use = { limit == SHARE_UNLIMITED ? 0 : limit, device->cores_percent };

        if (decided && limit != SHARE_UNLIMITED && decided->limit_bytes != SHARE_UNLIMITED)
                use_raise(&use, &(struct share_sum_use){ decided->limit_bytes, 0 });
        if (decided && use.cores_percent)
                use_raise(&use, &(struct share_sum_use){ 0, decided->cores_percent });
        return use;
}

static void row_add(struct summing *summing, const struct row *row)
{
        if (vec_push(&summing->rows, row) < 0)
                summing->result = -ENOMEM;
}

static bool is_wanted(const struct share_sum_question *question, const char *pod_uid,
                      const char *container)
{
        const struct share_copy *wanted = question->wanted;

        return wanted && strcmp(wanted->pod_uid, pod_uid) == 0 &&
               strcmp(wanted->container, container) == 0;
}

static void on_held(void *owner, struct held_share *held)
{
        struct summing *summing = owner;
        const struct share_sum_question *question = summing->question;
        const struct share_copy *copy = share_current(&held->share);
        const struct share_device *devices = copy->devices;
        struct share_device kept[SHARE_DEVICES];
        const int device = share_find_device(copy, question->uuid);

        if (device < 0 || (held->is_going && !question->has_going) ||
            (question->among && !seen_pods_find(question->among, held->pod_uid)) ||
            is_wanted(question, held->pod_uid, held->container))
                return;
        if (tenant_is_throttled(copy) && tenant_kept(held, kept))
                devices = kept; /* nobody else has what it gets back */
        row_add(summing, &(struct row){ held->pod_uid, copy->phase, copy->container_index,
                                        use_of(&devices[device],
                                               held->decided ? &held->decided[device] : NULL) });
}

static void on_seen(void *owner, struct hash_link *link)
{
        struct summing *summing = owner;
        const struct share_sum_question *question = summing->question;
        const struct seen_pod *pod = container_of(link, struct seen_pod, link);

        for (size_t i = 0; i < pod->claims.count; i++) {
                const struct seen_claim *claim = vec_at(&pod->claims, i);

                if (strcmp(claim->uuid, question->uuid) == 0 &&
                    !is_wanted(question, pod->uid, claim->container))
                        row_add(summing,
                                &(struct row){ pod->uid,
                                               claim->phase,
                                               claim->container_index,
                                               { claim->limit_bytes, claim->cores_percent } });
        }
}

static void wanted_add(struct summing *summing)
{
        const struct share_sum_question *question = summing->question;
        const struct share_copy *wanted = question->wanted;
        const struct held_share *held =
                share_book_find(question->book, wanted->pod_uid, wanted->container);
        const int device = share_find_device(wanted, question->uuid);
        const int decided =
                held ? share_find_device(share_current(&held->share), question->uuid) : -1;

        if (device >= 0)
                row_add(summing,
                        &(struct row){
                                wanted->pod_uid, wanted->phase, wanted->container_index,
                                use_of(&wanted->devices[device], decided >= 0 && held->decided
                                                                         ? &held->decided[decided]
                                                                         : NULL) });
}

static int row_compare(const void *a, const void *b)
{
        const struct row *left = a, *right = b;
        const int order = strcmp(left->pod_uid, right->pod_uid);

        return order ? order
                     : (left->container_index > right->container_index) -
                               (left->container_index < right->container_index);
}

/* The peak of the pod whose rows begin here; *ret_count is how many they are. */
static struct share_sum_use peak_of(const struct row *rows, size_t left, size_t *ret_count)
{
        struct pod_peak memory_bytes = { 0 }, cores_percent = { 0 };
        size_t i = 0;

        for (; i < left && strcmp(rows[i].pod_uid, rows[0].pod_uid) == 0; i++) {
                pod_peak_add(&memory_bytes, rows[i].phase, rows[i].use.memory_bytes);
                pod_peak_add(&cores_percent, rows[i].phase, rows[i].use.cores_percent);
        }
        *ret_count = i;
        return (struct share_sum_use){ pod_peak_of(&memory_bytes),
                                       (unsigned)pod_peak_of(&cores_percent) };
}

int share_sum(const struct share_sum_question *question, struct share_sum_use *ret_use)
{
        struct summing summing = { .question = question, .rows = VEC_OF(struct row) };
        struct share_sum_use use = { 0 };

        share_book_each(question->book, on_held, &summing);
        if (question->waiting)
                hash_each(&question->waiting->pods, on_seen, &summing);
        if (question->wanted)
                wanted_add(&summing);
        if (summing.result == 0 && summing.rows.count) {
                qsort(summing.rows.items, summing.rows.count, sizeof(struct row), row_compare);
                for (size_t i = 0, count; i < summing.rows.count; i += count) {
                        const struct share_sum_use peak =
                                peak_of(vec_at(&summing.rows, i), summing.rows.count - i, &count);

                        use_add(&use, &peak);
                }
        }
        vec_done(&summing.rows);
        if (summing.result == 0)
                *ret_use = use;
        return summing.result;
}
