/* SPDX-License-Identifier: Apache-2.0 */
/* Read, change, write; and once more if somebody else wrote in between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "json_memory.h"
#include "kube_client.h"
#include "list.h"

enum { ROUNDS_MOST = 10, FIRST_MS = 20 };

static const char out_of_memory[] = "out of memory";
static const char unreadable[] =
        "the object holds characters or numbers that cannot be read, and stays as it is";

struct kube_update {
        struct kube_client *client;
        char *path;
        bool (*change)(void *owner, json_t *object);
        void (*on_done)(void *owner, const struct kube_answer *answer);
        void *owner;
        struct kube_call *call; /* or NULL while it waits */
        struct timer timer;
        struct backoff backoff;
};

static void update_free(struct kube_update *update)
{
        loop_timer_clear(kube_client_loop(update->client), &update->timer);
        free(update->path);
        free(update);
}

static void update_done(struct kube_update *update, const struct kube_answer *answer)
{
        update->on_done(update->owner, answer);
        update_free(update);
}

static void update_fail(struct kube_update *update, const char *why)
{
        update_done(update, &(struct kube_answer){ .text = "", .reason = "", .message = why });
}

static void on_written(void *owner, const struct kube_answer *answer)
{
        struct kube_update *update = owner;
        uint64_t delay_ms;

        update->call = NULL;
        if (answer->status != 409 || update->backoff.tries >= ROUNDS_MOST)
                return update_done(update, answer);
        delay_ms = backoff_next_ms(&update->backoff, backoff_chance(), 0);
        loop_timer_set(kube_client_loop(update->client), &update->timer, delay_ms * NS_PER_MS);
}

static void on_read(void *owner, const struct kube_answer *answer)
{
        struct kube_update *update = owner;
        struct kube_request request = { .method = "PUT", .path = update->path };
        const uint64_t mark = json_memory_mark();
        json_t *object;
        int r;

        update->call = NULL;
        if (answer->status != 200)
                return update_done(update, answer);
        if (!answer->body || answer->is_tamed)
                return update_fail(update, unreadable);
        object = json_deep_copy(answer->body);
        if (!object)
                return update_fail(update, out_of_memory);
        const bool has_changed = update->change(update->owner, object);
        /* What is written back lacks nothing of what was read. */
        if (!json_memory_is_whole(mark)) {
                json_decref(object);
                return update_fail(update, out_of_memory);
        }
        if (!has_changed) {
                json_decref(object);
                return update_done(update, answer);
        }
        request.body = object;
        r = kube_client_call(update->client, &request, on_written, update, &update->call);
        json_decref(object);
        if (r < 0)
                update_fail(update, out_of_memory);
}

static int update_read(struct kube_update *update)
{
        return kube_client_call(update->client,
                                &(struct kube_request){ .method = "GET", .path = update->path },
                                on_read, update, &update->call);
}

static void on_again(struct timer *timer)
{
        struct kube_update *update = container_of(timer, struct kube_update, timer);

        if (update_read(update) < 0)
                update_fail(update, out_of_memory);
}

int kube_client_update(struct kube_client *client, const char *path,
                       bool (*change)(void *owner, json_t *object),
                       void (*on_done)(void *owner, const struct kube_answer *answer), void *owner,
                       struct kube_update **ret_update)
{
        struct kube_update *update = calloc(1, sizeof *update);
        int r = -ENOMEM;

        if (!update)
                return -ENOMEM;
        *update = (struct kube_update){ .client = client,
                                        .path = strdup(path),
                                        .change = change,
                                        .on_done = on_done,
                                        .owner = owner,
                                        .timer.on_due = on_again,
                                        .backoff.first_ms = FIRST_MS };
        if (update->path)
                r = update_read(update);
        if (r < 0)
                update_free(update);
        else
                *ret_update = update;
        return r;
}

void kube_update_cancel(struct kube_update *update)
{
        if (update->call)
                kube_call_cancel(update->call);
        update_free(update);
}
