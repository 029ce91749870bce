/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 from the asking side, by nghttp2. */
#include "http_client.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "conn.h"
#include "http2_fields.h"
#include "list.h"
#include "scope.h"

enum {
        WINDOW_BYTES = 1 << 20, /* what may be on its way to us: long lists come quickly */
};

/* A connection: the client's current one, or one that still ends its calls after a GOAWAY. */
struct link {
        struct list link;
        struct list calls;
        struct http_client *client;
        struct conn *conn;
        nghttp2_session *session;
        struct timer watchdog;
        uint64_t pinged_ns; /* 0: nothing asked */
        bool is_over;       /* no new calls */
};

struct http_client {
        struct loop *loop;
        struct http_client_options options;
        char *authority, *server_name;
        struct list links;
        struct link *current; /* or NULL */
};

struct http_call {
        struct list link;
        struct link *to;
        struct http_call_events events;
        void *owner;
        struct fields head, trailers;
        struct str body;
        size_t body_sent;
        int32_t stream;
        int status;
        bool has_head, has_ended;
        /* A call that could not be made still ends by the loop. */
        struct loop_task fail;
        struct err why;
};

static void call_free(struct http_call *call)
{
        list_remove(&call->link);
        fields_done(&call->head);
        fields_done(&call->trailers);
        str_done(&call->body);
        free(call);
}

static void call_end(struct http_call *call, const struct err *why)
{
        list_remove(&call->link);
        if (call->events.on_end)
                call->events.on_end(call->owner, why, &call->trailers);
        call_free(call);
}

static void link_watch(struct link *link, unsigned ms)
{
        loop_timer_set(link->client->loop, &link->watchdog, ms * NS_PER_MS);
}

/* Silence while calls are open is asked about; silence after that is the end. */
static void on_watchdog(struct timer *timer)
{
        struct link *link = container_of(timer, struct link, watchdog);
        const struct http_client_options *options = &link->client->options;
        const uint64_t heard_ns = conn_heard_ns(link->conn);

        if (!conn_is_open(link->conn))
                return conn_close(link->conn, -ETIMEDOUT, "no connection in time");
        if (link->pinged_ns && heard_ns < link->pinged_ns)
                return conn_close(link->conn, -ETIMEDOUT, "the peer fell silent");
        link->pinged_ns = 0;
        if (!list_is_empty(&link->calls) &&
            clock_now_ns() - heard_ns >= options->ping_ms * NS_PER_MS) {
                link->pinged_ns = clock_now_ns();
                nghttp2_submit_ping(link->session, 0, NULL);
                conn_wake(link->conn);
                return link_watch(link, options->pong_ms);
        }
        link_watch(link, options->ping_ms);
}

static int on_open(void *owner)
{
        struct link *link = owner;

        if (link->client->options.tls && !conn_is_h2(link->conn))
                return -EPROTONOSUPPORT; /* HTTP/2, that is */
        link_watch(link, link->client->options.ping_ms);
        return 0;
}

static int on_bytes(void *owner, const uint8_t *bytes, size_t count)
{
        struct link *link = owner;

        return nghttp2_session_mem_recv(link->session, bytes, count) < 0 ? -EPROTO : 0;
}

static ssize_t next_bytes(void *owner, const uint8_t **ret_bytes)
{
        struct link *link = owner;
        ssize_t length = nghttp2_session_mem_send(link->session, ret_bytes);

        return length < 0 ? -EPROTO : length;
}

static bool is_done(void *owner)
{
        struct link *link = owner;

        return (link->is_over && list_is_empty(&link->calls)) ||
               (!nghttp2_session_want_read(link->session) &&
                !nghttp2_session_want_write(link->session));
}

static void link_retire(struct link *link)
{
        link->is_over = true;
        if (link->client->current == link)
                link->client->current = NULL;
}

static void on_close(void *owner, const struct err *why)
{
        struct link *link = owner;
        struct err lost = *why;

        if (lost.code == 0)
                err_set(&lost, -ECONNRESET, "the connection ended");
        err_context(&lost, lost.code, link->client->options.address.text);
        link_retire(link);
        loop_timer_clear(link->client->loop, &link->watchdog);
        while (!list_is_empty(&link->calls))
                call_end(container_of(link->calls.next, struct http_call, link), &lost);
        nghttp2_session_del(link->session);
        list_remove(&link->link);
        free(link);
}

static const struct conn_protocol protocol = {
        .on_open = on_open,
        .on_bytes = on_bytes,
        .next_bytes = next_bytes,
        .is_done = is_done,
        .on_close = on_close,
};

static struct http_call *call_of(nghttp2_session *session, int32_t stream)
{
        return nghttp2_session_get_stream_user_data(session, stream);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *user)
{
        struct http_call *call = call_of(session, frame->hd.stream_id);

        (void)flags;
        (void)user;
        if (!call)
                return 0;
        if (fields_add(call->has_head ? &call->trailers : &call->head, (const char *)name,
                       name_length, (const char *)value, value_length) < 0)
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        return 0;
}

static void head_done(struct http_call *call)
{
        const char *status = fields_get(&call->head, ":status");

        call->status = status ? atoi(status) : 0;
        if (call->status < 200) /* an answer before the answer */
                return fields_done(&call->head);
        call->has_head = true;
        if (call->events.on_head)
                call->events.on_head(call->owner, call->status, &call->head);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
        struct http_call *call;

        if (frame->hd.type == NGHTTP2_GOAWAY)
                link_retire(user);
        if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
                return 0;
        call = call_of(session, frame->hd.stream_id);
        if (!call)
                return 0;
        if (!call->has_head)
                head_done(call);
        if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
                call->has_ended = true;
        return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t count, void *user)
{
        struct http_call *call = call_of(session, stream);

        (void)flags;
        (void)user;
        if (call && call->events.on_data)
                call->events.on_data(call->owner, bytes, count);
        return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user)
{
        struct http_call *call = call_of(session, stream);
        struct err why = { 0 };

        (void)user;
        if (!call)
                return 0;
        if (code == NGHTTP2_REFUSED_STREAM)
                err_set(&why, -EAGAIN, "the server did not accept the request");
        else if (!call->has_ended || !call->has_head)
                err_set(&why, -ECONNRESET, "the server aborted the response: %s",
                        nghttp2_http2_strerror(code));
        call_end(call, &why);
        return 0;
}

static int session_new(struct link *link)
{
        const nghttp2_settings_entry settings[] = {
                { NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
                { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_BYTES },
        };
        nghttp2_session_callbacks *callbacks;
        int r = nghttp2_session_callbacks_new(&callbacks);

        if (r < 0)
                return -ENOMEM;
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
        r = nghttp2_session_client_new(&link->session, callbacks, link);
        nghttp2_session_callbacks_del(callbacks);
        if (r < 0)
                return -ENOMEM;
        r = nghttp2_submit_settings(link->session, 0, settings, sizeof settings / sizeof *settings);
        if (r == 0)
                r = nghttp2_session_set_local_window_size(link->session, 0, 0, WINDOW_BYTES);
        return r < 0 ? -ENOMEM : 0;
}

static int link_dial(struct http_client *client, struct link *link, struct err *e)
{
        struct tls_session *tls = NULL;
        autoclose int fd = -1;
        int r = address_dial(&client->options.address, &fd, e);

        if (r == 0 && client->options.tls)
                r = tls_session_new(client->options.tls, fd, client->server_name, &tls, e);
        if (r == 0)
                r = conn_new(client->loop, steal_fd(fd), tls, &protocol, link, &link->conn);
        return r;
}

static int link_new(struct http_client *client, struct err *e)
{
        autofree struct link *link = calloc(1, sizeof *link);
        int r = link ? session_new(link) : -ENOMEM;

        if (r < 0) {
                if (link)
                        nghttp2_session_del(link->session);
                return err_set(e, r, "out of memory");
        }
        link->client = client;
        link->watchdog.on_due = on_watchdog;
        list_init(&link->calls);
        r = link_dial(client, link, e);
        if (r < 0) {
                nghttp2_session_del(link->session);
                return r;
        }
        link_watch(link, client->options.dial_ms);
        list_append(&client->links, &link->link);
        client->current = steal(link);
        return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *to, size_t most,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
        struct http_call *call = source->ptr;
        size_t count = call->body.length - call->body_sent;

        (void)session;
        (void)stream;
        (void)user;
        if (count > most)
                count = most;
        memcpy(to, call->body.text + call->body_sent, count);
        call->body_sent += count;
        if (call->body_sent == call->body.length)
                *flags |= NGHTTP2_DATA_FLAG_EOF;
        return (ssize_t)count;
}

static int call_submit(struct http_call *call, const struct http_call_request *request)
{
        static const struct fields none;
        struct http_client *client = call->to->client;
        nghttp2_data_provider body = { .source.ptr = call, .read_callback = read_body };
        nghttp2_nv fields[HTTP2_FIELDS_MOST] = {
                http2_field(":method", request->method),
                http2_field(":scheme", client->options.tls ? "https" : "http"),
                http2_field(":authority", client->authority),
                http2_field(":path", request->path),
        };
        size_t count = http2_fields_list(request->fields ? request->fields : &none, fields, 4);

        call->stream = nghttp2_submit_request(call->to->session, NULL, fields, count,
                                              call->body.length ? &body : NULL, call);
        if (call->stream < 0)
                return -ENOBUFS;
        list_append(&call->to->calls, &call->link);
        conn_wake(call->to->conn);
        return 0;
}

static void on_fail(struct loop_task *task)
{
        struct http_call *call = container_of(task, struct http_call, fail);

        call_end(call, &call->why);
}

int http_client_call(struct http_client *client, const struct http_call_request *request,
                     const struct http_call_events *events, void *owner,
                     struct http_call **ret_call)
{
        struct http_call *call = calloc(1, sizeof *call);
        int r;

        if (!call)
                return -ENOMEM;
        list_init(&call->link);
        call->events = *events;
        call->owner = owner;
        call->fail.run = on_fail;
        r = str_append_bytes(&call->body, request->body, request->body_count);
        if (r < 0) {
                call_free(call);
                return r;
        }
        r = client->current ? 0 : link_new(client, &call->why);
        call->to = client->current;
        if (r == 0)
                r = call_submit(call, request);
        if (r < 0) {
                if (!call->why.code)
                        err_set(&call->why, r, "%s", strerror(-r));
                call->to = NULL;
                loop_defer(client->loop, &call->fail);
        }
        *ret_call = call;
        return 0;
}

void http_call_cancel(struct http_call *call)
{
        call->events = (struct http_call_events){ 0 };
        if (!call->to)
                return; /* ends by itself */
        nghttp2_submit_rst_stream(call->to->session, 0, call->stream, NGHTTP2_CANCEL);
        conn_wake(call->to->conn);
}

int http_client_new(struct loop *loop, const struct http_client_options *options,
                    struct http_client **ret_client)
{
        struct http_client *client = calloc(1, sizeof *client);

        if (!client)
                return -ENOMEM;
        client->loop = loop;
        client->options = *options;
        client->options.dial_ms = options->dial_ms ?: 10000;
        client->options.ping_ms = options->ping_ms ?: 15000;
        client->options.pong_ms = options->pong_ms ?: 10000;
        client->authority = strdup(options->authority ? options->authority : "localhost");
        client->server_name = options->server_name ? strdup(options->server_name) : NULL;
        list_init(&client->links);
        if (!client->authority || (options->server_name && !client->server_name)) {
                http_client_free(client);
                return -ENOMEM;
        }
        *ret_client = client;
        return 0;
}

void http_client_hang_up(struct http_client *client)
{
        if (client->current) {
                conn_close(client->current->conn, -ECANCELED, "hung up");
                link_retire(client->current);
        }
}

void http_client_free(struct http_client *client)
{
        if (!client)
                return;
        LIST_EACH (item, &client->links)
                conn_close(container_of(item, struct link, link)->conn, -ECANCELED, "hung up");
        while (!list_is_empty(&client->links)) /* closed in the next turn */
                loop_step(client->loop, 0);
        free(client->authority);
        free(client->server_name);
        free(client);
}
