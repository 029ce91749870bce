/* SPDX-License-Identifier: Apache-2.0 */
/* List, watch, and list again. */
#include "kube_watch.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "json_read.h"
#include "json_stream.h"
#include "json_text.h"
#include "kube_changes.h"
#include "kube_internal.h"
#include "kube_object.h"
#include "kube_query.h"
#include "list.h"
#include "scope.h"
#include "str.h"

enum {
        PAGE = 500,
        OBJECT_BYTES = 4 << 20,
        FAILURE_BYTES = 4096,
        LIST_MS = 120000, /* one page */
        WATCH_S = 300,    /* the server ends it between this and twice this, by chance */
        GRACE_MS = 30000, /* before we end it ourselves */
        SHORT_MS = 1000,  /* a watch that ends sooner is trouble */
};

struct kube_watch {
        struct kube_client *client;
        struct kube_watch_options options;
        char *path, *query;
        struct http_call *call; /* the current request, or NULL while it waits */
        struct timer timer;     /* the request's time, or the wait's */
        struct backoff backoff;
        uint64_t began_ns, heard_ns, troubles, bad;

        struct kube_changes changes;
        char *version;      /* to watch from; NULL: list first */
        char *continuation; /* the next page's */

        struct json_stream stream;
        struct str pruned;  /* one object, without what nobody looks at */
        struct str failure; /* what came instead of a list or watch */
        struct err broken;  /* why we ended the request ourselves */
        int status;
        uint64_t asked_ms;
        bool is_watching; /* else listing */
        bool is_gone;     /* 410: what we know is too old */
        bool is_taking;   /* the owner is being told something */
        bool is_doubted;  /* the owner could not take in all that it was told */
};

static void step(struct kube_watch *watch);

static void watch_free(struct kube_watch *watch)
{
        loop_timer_clear(kube_client_loop(watch->client), &watch->timer);
        json_stream_done(&watch->stream);
        str_done(&watch->failure);
        str_done(&watch->pruned);
        kube_changes_done(&watch->changes);
        free(watch->path);
        free(watch->query);
        free(watch->version);
        free(watch->continuation);
        free(watch);
}

static int set_text(char **text, const char *value)
{
        char *copy = strdup(value);

        if (!copy)
                return -ENOMEM;
        free(*text);
        *text = copy;
        return 0;
}

static int take_error(struct kube_watch *watch, const json_t *status)
{
        const json_int_t code = json_read_integer(status, "code");

        watch->is_gone = code == 410;
        return err_set(&watch->broken, -EREMOTEIO, "the watch ended: %s",
                       json_read_text(status, "message"));
}

static int take_event(struct kube_watch *watch, const json_t *event)
{
        const char *type = json_read_text(event, "type");
        const json_t *object = json_object_get(event, "object");
        const char *version =
                json_read_text(json_object_get(object, "metadata"), "resourceVersion");
        int r = 0;

        if (strcmp(type, "ERROR") == 0)
                return take_error(watch, object);
        if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
                r = kube_changes_note(&watch->changes, object);
        else if (strcmp(type, "DELETED") == 0)
                r = kube_changes_delete(&watch->changes, object);
        if (r == 0 && *version) {
                backoff_reset(&watch->backoff);
                r = set_text(&watch->version, version);
        }
        return r;
}

/* NULL: it cannot be read. */
static json_t *value_load(struct kube_watch *watch, const char *text, size_t count,
                          bool *ret_is_tamed, struct err *e)
{
        *ret_is_tamed = false;
        if (watch->stream.is_cut) {
                err_set(e, -EMSGSIZE, "it is larger than %zu bytes", watch->stream.limit_bytes);
                return NULL;
        }
        if (!watch->options.without)
                return kube_object_load(text, count, ret_is_tamed, e);
        watch->pruned.length = 0;
        const int r = json_text_without(text, count, watch->options.without, &watch->pruned);
        if (r < 0) {
                err_set(e, r, r == -ENOMEM ? "out of memory" : "it is not JSON");
                return NULL;
        }
        return kube_object_load(watch->pruned.text, watch->pruned.length, ret_is_tamed, e);
}

static void tell_bad(struct kube_watch *watch, const struct kube_glimpse *seen, const char *what)
{
        struct err e = { 0 };

        watch->bad++;
        if (!watch->options.on_bad)
                return;
        err_set(&e, -EPROTO, "%s: %s%s%.100s %s", watch->path, seen->namespace_name,
                *seen->namespace_name ? "/" : "", *seen->name ? seen->name : "an object", what);
        watch->options.on_bad(watch->options.owner, &e);
}

static bool version_is_plain(const char *version)
{
        return *version && strspn(version, "0123456789") == strlen(version);
}

/* It alone is left out. What is known of it stays as it is: to take it for gone would free what it holds. */
static int take_bad(struct kube_watch *watch, const struct kube_glimpse *seen, const char *why)
{
        const struct kube_name name = { .namespace_name = seen->namespace_name,
                                        .name = seen->name,
                                        .uid = seen->uid };
        char what[128];

        if (strcmp(seen->type, "ERROR") == 0)
                return -EPROTO;
        snprintf(what, sizeof what, "is left out: %.100s", why);
        tell_bad(watch, seen, what);
        if (strcmp(seen->type, "DELETED") == 0)
                kube_changes_drop(&watch->changes, &name);
        else
                kube_changes_keep(&watch->changes, &name);
        if (!watch->is_watching || !version_is_plain(seen->version))
                return 0;
        backoff_reset(&watch->backoff);
        return set_text(&watch->version, seen->version);
}

static int on_value(void *owner, const char *text, size_t count)
{
        struct kube_watch *watch = owner;
        struct err why = { 0 };
        struct kube_glimpse seen;
        bool is_tamed;
        autojson json_t *value = value_load(watch, text, count, &is_tamed, &why);
        int r = why.code == -ENOMEM ? -ENOMEM : -EPROTO;

        if (value)
                r = watch->is_watching ? take_event(watch, value)
                                       : kube_changes_note(&watch->changes, value);
        if ((r == -EPROTO || is_tamed) && !watch->changes.is_muted) {
                kube_object_glimpse(text, count, watch->is_watching, &seen);
                if (r == -EPROTO)
                        r = take_bad(watch, &seen,
                                     why.code ? why.text : "it is no object with a name");
                else if (r == 0)
                        tell_bad(watch, &seen,
                                 "holds characters or numbers that cannot be read; others stand "
                                 "for them");
        }
        if (watch->is_doubted && r == 0)
                r = -ENOMEM;
        return watch->changes.is_muted ? -ECANCELED : r;
}

static void on_head(void *owner, int status, const struct fields *head)
{
        struct kube_watch *watch = owner;

        watch->status = status;
        if (status == 200)
                watch->heard_ns = clock_now_ns();
        watch->asked_ms = kube_retry_after_ms(head);
}

static void settle(struct kube_watch *watch, const struct err *why);

/* Ends the request from our side. */
static void break_off(struct kube_watch *watch, int code, const char *what)
{
        if (!watch->broken.code)
                err_set(&watch->broken, code, "%s", what);
        http_call_cancel(watch->call);
        settle(watch, &watch->broken);
}

static void on_data(void *owner, const uint8_t *bytes, size_t count)
{
        struct kube_watch *watch = owner;
        int r;

        if (watch->status != 200) {
                if (count <= FAILURE_BYTES - watch->failure.length)
                        str_append_bytes(&watch->failure, (const char *)bytes, count);
                return;
        }
        watch->heard_ns = clock_now_ns();
        watch->is_taking = true;
        r = json_stream_take(&watch->stream, bytes, count, on_value, watch);
        watch->is_taking = false;
        if (watch->changes.is_muted) {
                http_call_cancel(watch->call);
                watch_free(watch);
        } else if (r < 0) {
                break_off(watch, r,
                          r == -EMSGSIZE ? "an object is too large"
                          : r == -ENOMEM ? "out of memory"
                                         : "what came is not understood");
        }
}

static void on_end(void *owner, const struct err *why, const struct fields *trailers)
{
        (void)trailers;
        settle(owner, why);
}

static void on_timeout(struct timer *timer)
{
        break_off(container_of(timer, struct kube_watch, timer), -ETIMEDOUT, "no end in time");
}

static void on_waited(struct timer *timer)
{
        step(container_of(timer, struct kube_watch, timer));
}

static void wait_ms(struct kube_watch *watch, uint64_t delay_ms)
{
        watch->timer.on_due = on_waited;
        loop_timer_set(kube_client_loop(watch->client), &watch->timer, delay_ms * NS_PER_MS);
}

static void wait_backoff(struct kube_watch *watch)
{
        wait_ms(watch, backoff_next_ms(&watch->backoff, backoff_chance(), watch->asked_ms));
}

/* The next request: a page of the list, or the watch. */
static void step(struct kube_watch *watch)
{
        static const struct http_call_events events = { on_head, on_data, on_end };
        const unsigned seconds = WATCH_S + backoff_chance() % WATCH_S;
        struct str path = { 0 };
        int r;

        watch->is_watching = watch->version;
        if (!watch->is_watching && !watch->continuation)
                kube_changes_begin(&watch->changes);
        watch->status = 0;
        watch->asked_ms = 0;
        watch->is_gone = watch->is_doubted = false;
        watch->broken = (struct err){ 0 };
        watch->began_ns = clock_now_ns();
        watch->stream.is_list = !watch->is_watching;
        json_stream_done(&watch->stream);
        str_done(&watch->failure);
        r = watch->is_watching
                    ? kube_query_watch(&path, watch->path, watch->query, seconds, watch->version)
                    : kube_query_list(&path, watch->path, watch->query, watch->options.page,
                                      watch->continuation);
        if (r == 0)
                r = kube_client_send(watch->client,
                                     &(struct kube_send){ .method = "GET", .path = path.text },
                                     &events, watch, &watch->call);
        str_done(&path);
        if (r < 0)
                return wait_backoff(watch);
        watch->timer.on_due = on_timeout;
        loop_timer_set(kube_client_loop(watch->client), &watch->timer,
                       (watch->is_watching ? seconds * 1000ull + GRACE_MS : LIST_MS) * NS_PER_MS);
}

/* A page is there: the next one, or all is told. */
static int take_page(struct kube_watch *watch)
{
        autojson json_t *envelope =
                json_loadb(watch->stream.envelope.text ? watch->stream.envelope.text : "",
                           watch->stream.envelope.length, 0, NULL);
        const json_t *metadata = json_object_get(envelope, "metadata");
        const char *next = json_read_text(metadata, "continue");
        const char *version = json_read_text(metadata, "resourceVersion");
        int r = *version && json_stream_is_whole(&watch->stream) ? 0 : -EPROTO;

        if (r == 0)
                r = *next ? set_text(&watch->continuation, next)
                          : set_text(&watch->version, version);
        return r;
}

static void list_complete(struct kube_watch *watch)
{
        free(steal(watch->continuation));
        json_stream_done(&watch->stream);
        watch->is_taking = true;
        kube_changes_sweep(&watch->changes);
        if (!watch->changes.is_muted && !watch->is_doubted && watch->options.on_synced)
                watch->options.on_synced(watch->options.owner);
        watch->is_taking = false;
        str_done(&watch->pruned);
        malloc_trim(0); /* a list is the most we ever hold */
}

static void trouble(struct kube_watch *watch, const struct err *why)
{
        struct err e = *why;
        json_t *status;

        watch->troubles++;
        if (e.code == 0) {
                status = json_loadb(watch->failure.text ? watch->failure.text : "",
                                    watch->failure.length, 0, NULL);
                err_set(&e, -EREMOTEIO, "%s: the API server answers %d %s", watch->path,
                        watch->status, json_read_text(status, "message"));
                json_decref(status);
        } else {
                err_context(&e, e.code, watch->path);
        }
        watch->is_taking = true;
        if (watch->options.on_trouble)
                watch->options.on_trouble(watch->options.owner, &e);
        watch->is_taking = false;
}

/* What we know cannot be continued: all from the beginning. */
static void forget(struct kube_watch *watch)
{
        free(steal(watch->version));
        free(steal(watch->continuation));
}

static void settle_list(struct kube_watch *watch, const struct err *why)
{
        const struct err malformed = { .code = -EPROTO, .text = "the list is not understood" };
        const struct err memory = { .code = -ENOMEM, .text = "out of memory" };
        int r = why->code;

        if (r == 0 && watch->status == 200) {
                r = take_page(watch);
                if (r < 0)
                        why = &malformed;
        }
        if (r == 0 && watch->status == 200) {
                if (watch->version)
                        list_complete(watch);
                if (!watch->is_doubted)
                        return wait_ms(watch, 0);
                why = &memory;
        }
        forget(watch);
        trouble(watch, why);
        wait_backoff(watch);
}

static void settle_watch(struct kube_watch *watch, const struct err *why)
{
        const bool is_short = clock_now_ns() - watch->began_ns < SHORT_MS * NS_PER_MS;

        if (watch->status == 410 || watch->is_gone || watch->is_doubted)
                forget(watch);
        else if (why->code < 0 || watch->status != 200)
                trouble(watch, why);
        else if (!is_short) {
                backoff_reset(&watch->backoff);
                return wait_ms(watch, 0); /* the server ends watches now and then */
        }
        wait_backoff(watch);
}

static void settle(struct kube_watch *watch, const struct err *why)
{
        loop_timer_clear(kube_client_loop(watch->client), &watch->timer);
        watch->call = NULL;
        if (watch->status == 401)
                kube_client_reread(watch->client);
        if (watch->is_watching)
                settle_watch(watch, why);
        else
                settle_list(watch, why);
        if (watch->changes.is_muted)
                watch_free(watch);
}

int kube_watch_new(struct kube_client *client, const struct kube_watch_options *options,
                   struct kube_watch **ret_watch)
{
        struct kube_watch *watch = calloc(1, sizeof *watch);

        if (!watch)
                return -ENOMEM;
        watch->client = client;
        watch->options = *options;
        watch->options.page = options->page ?: PAGE;
        watch->changes.on_change = options->on_change;
        watch->changes.owner = options->owner;
        watch->backoff.first_ms = options->first_ms;
        watch->backoff.most_ms = options->most_ms;
        watch->stream.limit_bytes = options->object_bytes ?: OBJECT_BYTES;
        watch->path = strdup(options->path);
        watch->query = strdup(options->query ? options->query : "");
        if (!watch->path || !watch->query) {
                watch_free(watch);
                return -ENOMEM;
        }
        wait_ms(watch, 0);
        *ret_watch = watch;
        return 0;
}

void kube_watch_free(struct kube_watch *watch)
{
        if (!watch)
                return;
        if (watch->is_taking) { /* whoever tells frees it, then */
                watch->changes.is_muted = true;
                return;
        }
        if (watch->call)
                http_call_cancel(watch->call);
        watch_free(watch);
}

void kube_watch_repeat(struct kube_watch *watch)
{
        kube_changes_doubt(&watch->changes);
        watch->is_doubted = true;
        if (watch->is_taking)
                return; /* whoever tells breaks it off */
        if (watch->call)
                break_off(watch, -ENOMEM, "out of memory");
        else
                forget(watch); /* it waits, and then begins with a list */
}

struct kube_watch_state kube_watch_state(const struct kube_watch *watch)
{
        return (struct kube_watch_state){
                .is_open = watch->call && watch->is_watching && watch->status == 200,
                .heard_ns = watch->heard_ns,
                .troubles = watch->troubles,
                .bad = watch->bad,
        };
}
