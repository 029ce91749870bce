/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 as a protocol of the HTTP server, by nghttp2. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "http2_fields.h"
#include "http_internal.h"

enum { RESETS_PER_SECOND = 20 };

struct http2 {
        nghttp2_session *session;
        uint64_t reset_ns; /* when the resets so far will be forgiven */
        bool is_over;      /* GOAWAY is said: nothing is heard any more */
};

static struct http2 *http2_of(const struct http_conn *hc)
{
        return hc->state;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
        struct http_conn *hc = user;
        struct http_exchange *exchange;

        if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
                return 0;
        if (hc->is_draining)
                return nghttp2_submit_rst_stream(session, 0, frame->hd.stream_id,
                                                 NGHTTP2_REFUSED_STREAM);
        exchange = exchange_new(hc);
        if (!exchange)
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        exchange->stream = frame->hd.stream_id;
        return nghttp2_session_set_stream_user_data(session, exchange->stream, exchange);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *user)
{
        struct http_exchange *exchange =
                nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

        (void)flags;
        (void)user;
        if (exchange && !exchange->is_given)
                exchange_add_field(exchange, (const char *)name, name_length, (const char *)value,
                                   value_length);
        return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t count, void *user)
{
        struct http_exchange *exchange = nghttp2_session_get_stream_user_data(session, stream);

        (void)flags;
        (void)user;
        if (exchange && !exchange->is_given)
                exchange_add_body(exchange, bytes, count);
        return 0;
}

/* Streams that are opened only to be reset cost us much and the client nothing: a few are mistakes,
 * many are an attack. Each moves a mark in time, which real time catches up with. */
static int count_reset(struct http_conn *hc)
{
        const uint64_t step_ns = NS_PER_S / RESETS_PER_SECOND;
        const uint64_t now_ns = clock_now_ns();
        struct http2 *http2 = http2_of(hc);

        if (http2->reset_ns < now_ns)
                http2->reset_ns = now_ns;
        http2->reset_ns += step_ns;
        return http2->reset_ns - now_ns > http_server_limits(hc->server)->resets * step_ns
                       ? NGHTTP2_ERR_CALLBACK_FAILURE
                       : 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
        struct http_exchange *exchange;

        if (frame->hd.type == NGHTTP2_RST_STREAM)
                return count_reset(user);
        if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
                return 0;
        exchange = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
        if (!exchange)
                return 0;
        if (frame->hd.type == NGHTTP2_HEADERS && !exchange->is_head_done)
                exchange_head_done(exchange);
        if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM && !exchange->is_complete)
                exchange_complete(exchange);
        return 0;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
        struct http_exchange *exchange =
                nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

        (void)user;
        /* Answered before it was asked to the end: the rest is not wanted. */
        if (exchange && !exchange->is_complete && frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
            (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
                nghttp2_submit_rst_stream(session, 0, frame->hd.stream_id, NGHTTP2_NO_ERROR);
        return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user)
{
        struct http_exchange *exchange = nghttp2_session_get_stream_user_data(session, stream);

        (void)code;
        (void)user;
        if (exchange)
                exchange_detach(exchange);
        return 0;
}

static int session_new(struct http_conn *hc, nghttp2_session **ret_session)
{
        nghttp2_session_callbacks *callbacks;
        nghttp2_option *option;
        int r = nghttp2_session_callbacks_new(&callbacks);

        if (r < 0)
                return -ENOMEM;
        r = nghttp2_option_new(&option);
        if (r < 0) {
                nghttp2_session_callbacks_del(callbacks);
                return -ENOMEM;
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
        /* Old kubelets put the socket's path, slashes and all, into :authority, which nghttp2 would
         * refuse. Fields are checked for what matters to us in fields.c. */
        nghttp2_option_set_no_http_messaging(option, hc->is_unix);
        nghttp2_option_set_max_deflate_dynamic_table_size(option, 0);
        r = nghttp2_session_server_new2(ret_session, callbacks, hc, option);
        nghttp2_option_del(option);
        nghttp2_session_callbacks_del(callbacks);
        return r < 0 ? -ENOMEM : 0;
}

static void http2_close(struct http_conn *hc)
{
        nghttp2_session_del(http2_of(hc)->session);
        free(hc->state);
}

static int http2_open(struct http_conn *hc)
{
        const nghttp2_settings_entry settings[] = {
                { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                  http_server_limits(hc->server)->streams },
                { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, FIELDS_BYTES },
        };
        struct http2 *http2 = calloc(1, sizeof *http2);
        int r = http2 ? session_new(hc, &http2->session) : -ENOMEM;

        if (r < 0) {
                free(http2);
                return r;
        }
        hc->state = http2;
        r = nghttp2_submit_settings(http2->session, 0, settings,
                                    sizeof settings / sizeof *settings);
        if (r < 0)
                http2_close(hc);
        return r < 0 ? -ENOMEM : 0;
}

static int http2_on_bytes(struct http_conn *hc, const uint8_t *bytes, size_t count)
{
        struct http2 *http2 = http2_of(hc);
        ssize_t length;

        if (http2->is_over)
                return 0;
        length = nghttp2_session_mem_recv(http2->session, bytes, count);
        if (length == NGHTTP2_ERR_CALLBACK_FAILURE) {
                http2->is_over = true; /* said, then closed */
                nghttp2_session_terminate_session(http2->session, NGHTTP2_ENHANCE_YOUR_CALM);
                return 0;
        }
        return length < 0 ? -EPROTO : 0;
}

/* Streams end first, with their trailers; then GOAWAY, then the connection. */
static void say_goaway(struct http_conn *hc)
{
        struct http2 *http2 = http2_of(hc);

        http2->is_over = true;
        nghttp2_submit_goaway(http2->session, 0,
                              nghttp2_session_get_last_proc_stream_id(http2->session),
                              NGHTTP2_NO_ERROR, NULL, 0);
}

static ssize_t http2_next_bytes(struct http_conn *hc, const uint8_t **ret_bytes)
{
        struct http2 *http2 = http2_of(hc);
        ssize_t length = nghttp2_session_mem_send(http2->session, ret_bytes);

        if (length == 0 && hc->is_draining && !http2->is_over && list_is_empty(&hc->exchanges)) {
                say_goaway(hc);
                length = nghttp2_session_mem_send(http2->session, ret_bytes);
        }
        return length < 0 ? -EPROTO : length;
}

/* By us; or by the session, after an error of the client's, or its goodbye. */
static bool http2_is_done(struct http_conn *hc)
{
        const struct http2 *http2 = http2_of(hc);

        return http2->is_over || (!nghttp2_session_want_read(http2->session) &&
                                  !nghttp2_session_want_write(http2->session));
}

static ssize_t read_reply(nghttp2_session *session, int32_t stream, uint8_t *to, size_t most,
                          uint32_t *flags, nghttp2_data_source *source, void *user)
{
        struct http_exchange *exchange = source->ptr;
        const char *bytes;
        size_t count = exchange_pending(exchange, &bytes);

        (void)user;
        if (count > most)
                count = most;
        if (count)
                memcpy(to, bytes, count);
        exchange_sent(exchange, count);
        if (exchange_pending(exchange, &bytes) > 0)
                return (ssize_t)count;
        if (!exchange->is_ended)
                return count ? (ssize_t)count : NGHTTP2_ERR_DEFERRED;
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (exchange->trailers.bytes.length) {
                nghttp2_nv fields[HTTP2_FIELDS_MOST];
                size_t n = http2_fields_list(&exchange->trailers, fields, 0);

                *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
                if (nghttp2_submit_trailer(session, stream, fields, n) < 0)
                        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
        return (ssize_t)count;
}

static int submit_head(struct http_exchange *exchange)
{
        nghttp2_session *session = http2_of(exchange->hc)->session;
        nghttp2_data_provider body = { .source.ptr = exchange, .read_callback = read_reply };
        nghttp2_nv fields[HTTP2_FIELDS_MOST];
        const bool is_all = exchange->is_ended && !exchange->has_sent;
        char status[12];

        snprintf(status, sizeof status, "%d", exchange->status);
        fields[0] = http2_field(":status", status);
        return nghttp2_submit_response(session, exchange->stream, fields,
                                       http2_fields_list(&exchange->head, fields, 1),
                                       is_all ? NULL : &body);
}

static void http2_wake(struct http_exchange *exchange)
{
        if (exchange->status && !exchange->is_begun) {
                exchange->is_begun = true;
                /* Without memory for the answer the client learns at least that there is none. */
                if (submit_head(exchange) < 0)
                        conn_close(exchange->hc->conn, -ENOMEM, "out of memory");
        }
        nghttp2_session_resume_data(http2_of(exchange->hc)->session, exchange->stream);
        conn_wake(exchange->hc->conn);
}

static void http2_reset(struct http_exchange *exchange)
{
        struct http_conn *hc = exchange->hc;

        nghttp2_submit_rst_stream(http2_of(hc)->session, 0, exchange->stream, NGHTTP2_CANCEL);
        conn_wake(hc->conn);
}

const struct http_protocol http2_protocol = {
        .open = http2_open,
        .on_bytes = http2_on_bytes,
        .next_bytes = http2_next_bytes,
        .is_done = http2_is_done,
        .wake = http2_wake,
        .reset = http2_reset,
        .close = http2_close,
};
