/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 as a protocol of the HTTP server: one exchange at a time, kept alive. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http1.h"
#include "http_internal.h"

/* What a client may send ahead while its request is being answered. */
enum { AHEAD_BYTES = 4096 };

struct http1 {
        struct str in; /* a head that is not all there, or what was sent ahead */
        struct str out;
        size_t out_sent;
        struct http1_head head;
        struct http1_chunks chunks;
        uint64_t body_left;
        struct http_exchange *exchange; /* the current one, or NULL */
        bool is_last;
};

static struct http1 *http1_of(const struct http_conn *hc)
{
        return hc->state;
}

static int http1_open(struct http_conn *hc)
{
        hc->state = calloc(1, sizeof(struct http1));
        return hc->state ? 0 : -ENOMEM;
}

static void drop_in(struct http1 *http1, size_t count)
{
        http1->in.length -= count;
        memmove(http1->in.text, http1->in.text + count, http1->in.length);
}

/* Each take_…() returns whether there may be more to take. */
static bool take_head(struct http1 *http1)
{
        struct http_exchange *exchange = http1->exchange;
        size_t length = http1_head_length(http1->in.text, http1->in.length);
        int fault = 431;

        if (length == 0 && http1->in.length <= FIELDS_BYTES)
                return false;
        if (length)
                fault = http1_parse_head(http1->in.text, length, &exchange->fields, &http1->head);
        /* What is announced too large is refused before it comes. */
        if (!fault && !http1->head.is_chunked &&
            http1->head.body_bytes > http_server_limits(exchange->server)->body_bytes)
                fault = 413;
        drop_in(http1, length ? length : http1->in.length);
        http1->is_last = fault || http1->head.is_last;
        http1->body_left = http1->head.body_bytes;
        http1->chunks = (struct http1_chunks){ 0 };
        if (fault)
                exchange_refuse(exchange, fault);
        else if (http1->head.wants_continue)
                str_append(&http1->out, "HTTP/1.1 100 Continue\r\n\r\n");
        exchange_head_done(exchange);
        return true;
}

static bool take_chunk(struct http1 *http1)
{
        struct http_exchange *exchange = http1->exchange;
        const char *piece = NULL;
        size_t piece_count;
        ssize_t taken = http1_chunks_take(&http1->chunks, http1->in.text, http1->in.length, &piece,
                                          &piece_count);

        if (taken < 0) {
                exchange_refuse(exchange, 400);
                return false;
        }
        if (http1->chunks.state == CHUNK_END) {
                drop_in(http1, (size_t)taken);
                exchange_complete(exchange);
                return true;
        }
        if (piece_count)
                exchange_add_body(exchange, piece, piece_count);
        drop_in(http1, (size_t)taken);
        return taken > 0;
}

static bool take_body(struct http1 *http1)
{
        struct http_exchange *exchange = http1->exchange;
        size_t count =
                http1->in.length < http1->body_left ? http1->in.length : (size_t)http1->body_left;

        if (http1->head.is_chunked)
                return take_chunk(http1);
        http1->body_left -= count;
        if (count)
                exchange_add_body(exchange, http1->in.text, count);
        drop_in(http1, count);
        if (http1->body_left || http1->exchange != exchange || exchange->is_given)
                return count > 0;
        exchange_complete(exchange);
        return true;
}

static bool take(struct http_conn *hc)
{
        struct http1 *http1 = http1_of(hc);

        if (!http1->exchange) {
                if (http1->is_last || http1->in.length == 0)
                        return false;
                http1->exchange = exchange_new(hc);
                if (!http1->exchange) {
                        conn_close(hc->conn, -ENOMEM, "out of memory");
                        return false;
                }
        }
        if (http1->exchange->is_given)
                return false; /* one at a time */
        return http1->exchange->is_head_done ? take_body(http1) : take_head(http1);
}

static int http1_on_bytes(struct http_conn *hc, const uint8_t *bytes, size_t count)
{
        struct http1 *http1 = http1_of(hc);
        int r;

        if (http1->is_last && (!http1->exchange || http1->exchange->is_given))
                return 0; /* nobody will read it */
        if (http1->exchange && http1->exchange->is_given && http1->in.length + count > AHEAD_BYTES)
                return -EPROTO;
        r = str_append_bytes(&http1->in, (const char *)bytes, count);
        while (r == 0 && take(hc))
                ;
        return r;
}

static ssize_t http1_next_bytes(struct http_conn *hc, const uint8_t **ret_bytes)
{
        struct http1 *http1 = http1_of(hc);
        size_t count;

        if (http1->out_sent == http1->out.length) {
                str_done(&http1->out);
                http1->out_sent = 0;
                while (take(hc)) /* what was sent ahead */
                        ;
        }
        *ret_bytes = (const uint8_t *)http1->out.text + http1->out_sent;
        count = http1->out.length - http1->out_sent;
        http1->out_sent = http1->out.length;
        return (ssize_t)count;
}

static bool http1_is_done(struct http_conn *hc)
{
        const struct http1 *http1 = http1_of(hc);

        return !http1->exchange && (http1->is_last || hc->is_draining);
}

static void append_fields(struct str *out, const struct fields *fields)
{
        const char *at = fields->bytes.text;
        const char *const end = at + fields->bytes.length;

        for (const char *value; at < end; at = value + strlen(value) + 1) {
                value = at + strlen(at) + 1;
                str_appendf(out, "%s: %s\r\n", at, value);
        }
}

/* The whole answer at once. Short of memory: the connection ends, which no client takes for one. */
static void http1_wake(struct http_exchange *exchange)
{
        struct http_conn *hc = exchange->hc;
        struct http1 *http1 = http1_of(hc);
        const char *body;
        size_t count;
        int r;

        if (!exchange->is_ended)
                return;
        if (!exchange->is_complete || hc->is_draining)
                http1->is_last = true;
        count = exchange_pending(exchange, &body);
        r = str_appendf(&http1->out, "HTTP/1.1 %d \r\n", exchange->status);
        append_fields(&http1->out, &exchange->head);
        if (r == 0)
                r = str_appendf(&http1->out, "%scontent-length: %zu\r\n\r\n",
                                http1->is_last ? "connection: close\r\n" : "", count);
        if (r == 0 && strcmp(http_method(exchange), "HEAD") != 0)
                r = str_append_bytes(&http1->out, body, count);
        http1->exchange = NULL;
        exchange_detach(exchange);
        if (r < 0)
                conn_close(hc->conn, r, "out of memory");
        conn_wake(hc->conn);
}

static void http1_reset(struct http_exchange *exchange)
{
        conn_close(exchange->hc->conn, -ETIMEDOUT, "the client took too long");
}

static void http1_close(struct http_conn *hc)
{
        struct http1 *http1 = http1_of(hc);

        str_done(&http1->in);
        str_done(&http1->out);
        free(http1);
}

const struct http_protocol http1_protocol = {
        .open = http1_open,
        .on_bytes = http1_on_bytes,
        .next_bytes = http1_next_bytes,
        .is_done = http1_is_done,
        .wake = http1_wake,
        .reset = http1_reset,
        .close = http1_close,
};
